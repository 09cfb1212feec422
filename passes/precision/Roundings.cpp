//===- Roundings.cpp - the roundings of a program, for people -------------===//

#include "passes/precision/Roundings.h"
#include "ir/program/Program.h"
#include "passes/precision/Fp8Plan.h"
#include "passes/precision/Policy.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

static bool isReduced(Value value) {
  Type element = tensorType(value).getElementType();
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
}

namespace {
/// How a low-precision value is used.
struct Usage {
  llvm::SmallSetVector<StringRef, 4> reasons;
  int64_t slots = 1;

  void follow(Value value) {
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (movesElements(user)) {
        follow(user->getResult(0));
      } else if (use.getOperandNumber() < numFactors(user)) {
        reasons.insert(isa<AttentionOp>(user) ? "an attention reads it" : "a contraction multiplies it");
      } else if (auto repeat = dyn_cast<RepeatOp>(user)) {
        follow(repeat.getBlock().getArgument(use.getOperandNumber() + 1));
      } else if (auto yield = dyn_cast<YieldOp>(user)) {
        auto repeat = dyn_cast<RepeatOp>(yield->getParentOp());
        if (!repeat) continue;
        bool isCarried = use.getOperandNumber() < repeat.getCarried().size();
        bool isSaved = !isCarried && llvm::any_of(repeat.getResult(use.getOperandNumber()).getUsers(),
                                                  [](Operation *reader) { return isa<RepeatOp>(reader); });
        reasons.insert(isCarried ? "passed from layer to layer"
                       : isSaved ? "saved for the backward pass"
                                 : "a result of each layer");
        if (!isCarried) slots = repeat.getAxis().getSize();
      } else if (isa<CastOp>(user)) {
        reasons.insert("read from memory");
      }
    }
  }
};
} // namespace

/// The value that a cast rounds, before it was scaled and rounded to another low-precision type.
static Value unroundedOf(CastOp cast) {
  Value value = behindQuantization(cast.getResult());
  if (!value) value = cast.getX();
  auto widened = value.getDefiningOp<CastOp>();
  return widened && isReduced(widened.getX()) ? widened.getX() : value;
}

std::vector<RoundingSite> tessera::listRoundings(func::FuncOp function) {
  std::vector<RoundingSite> list;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool makes = isa<CastOp>(op) ? !isReduced(op->getOperand(0)) : numFactors(op) > 0;
    if (!makes || !isReduced(op->getResult(0))) return;
    RoundingSite rounding;
    auto cast = dyn_cast<CastOp>(op);
    Value source = cast ? unroundedOf(cast) : op->getResult(0);
    Operation *maker = source.getDefiningOp();
    rounding.type = tensorType(op->getResult(0));
    rounding.name = userName(maker && userName(op).empty() ? maker : op).str();
    rounding.line = userLine(op->getLoc());
    rounding.op = maker ? maker->getName().stripDialect().str() : "argument";
    if (auto argument = maker ? BlockArgument() : dyn_cast<BlockArgument>(source))
      if (auto owner = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())) {
        StringRef state = argumentState(owner, argument.getArgNumber());
        if (!state.empty()) rounding.name = state.str(), rounding.op = "parameter";
      }
    Usage usage;
    usage.follow(op->getResult(0));
    rounding.why = llvm::join(usage.reasons, "; ");
    rounding.times = runsPerCall(op);
    int64_t full = tensorType(source).getElementBytes() * rounding.type.getNumElements();
    if (!cast) full = 4 * rounding.type.getNumElements();
    // A parameter's low-precision copy is stored in addition to the parameter.
    rounding.bytesSaved =
        rounding.op == "parameter" ? -rounding.type.getNumBytes() : usage.slots * (full - rounding.type.getNumBytes());
    list.push_back(std::move(rounding));
  });
  return list;
}

SavedBytes tessera::countSaved(func::FuncOp function) {
  SavedBytes saved;
  function.walk([&](RepeatOp repeat) {
    for (Value result : repeat.getStackedResults()) {
      bool isSaved = llvm::any_of(result.getUsers(), [&](Operation *user) {
        auto other = dyn_cast<RepeatOp>(user);
        return other && other.getReverse() != repeat.getReverse();
      });
      if (!isSaved) continue;
      NamedTensorType type = tensorType(result);
      saved.bytes += type.getNumBytes();
      saved.inF32 += isReduced(result) ? 4 * type.getNumElements() : type.getNumBytes();
    }
  });
  return saved;
}
