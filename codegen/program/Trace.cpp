//===- Trace.cpp - what each call of an entry function writes ---------------===//

#include "codegen/program/Trace.h"
#include "ir/program/Program.h"
#include "passes/launch/Launches.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

namespace {
/// Values that may be infinite though nothing is wrong: what follows from an infinite constant (a mask) by ops through which infinity
/// passes. Exponentials and comparisons end it.
class Infinities {
public:
  bool isPossible(Value value) {
    auto [it, isNew] = known.try_emplace(value, false); // a carried value in its own circle: as its start
    if (!isNew) return it->second;
    bool result = find(value);
    return known[value] = result;
  }

private:
  bool find(Value value) {
    if (!isa<FloatType>(tensorType(value).getElementType())) return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      int number = static_cast<int>(argument.getArgNumber()) - (isa<RepeatOp>(parent) ? 1 : 0);
      return !isa<func::FuncOp>(parent) && number >= 0 && isPossible(parent->getOperand(number));
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    if (auto constant = dyn_cast<ConstantOp>(op)) return std::isinf(constant.getNumber());
    if (isa<KernelOp, TiledOp, RepeatOp>(op))
      return isPossible(op->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber()));
    if (isa<ContractOp>(op) || endsInfinity(op)) return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) { return isPossible(operand); });
  }

  /// Whether a function of one number is finite where a mask is -inf, as exp is.
  static bool endsInfinity(Operation *op) {
    auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
    return elementwise && op->hasTrait<traits::IsUnaryFunction>() && std::isfinite(elementwise.applyScalar(-INFINITY));
  }

  llvm::DenseMap<Value, bool> known;
};

class TraceWriter {
public:
  explicit TraceWriter(llvm::json::OStream &json) : json(json) {}

  void writeBlock(Block &block) {
    for (Operation &op : block) {
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        json.object([&] {
          json.attribute("repeat", repeat.getAxis().getSize());
          json.attribute("reverse", repeat.getReverse());
          json.attributeArray("body", [&] { writeBlock(repeat.getBlock()); });
        });
      } else if (isa<KernelOp, TiledOp, ContractOp>(op)) {
        bool isFirst = !op.getPrevNode() || !isSameLaunch(op.getPrevNode(), &op);
        if (isFirst) writeCall(launchOf(&op));
      }
    }
  }

private:
  /// Of one op, or of the kernels of a launch: then each result has the name of its own.
  void writeCall(ArrayRef<Operation *> ops) {
    json.object([&] {
      json.attribute("name", ops.size() == 1 ? userName(ops.front()) : "");
      json.attributeArray("results", [&] {
        for (Operation *op : ops) {
          auto places = op->getAttrOfType<ArrayAttr>(attrs::places);
          for (OpResult result : op->getResults())
            if (!isFp8(tensorType(result).getElementType())) // scaled, and infinite numbers are cut off
              writeResult(result, cast<PlaceAttr>(places[result.getResultNumber()]),
                          ops.size() == 1 ? "" : userName(op));
        }
      });
    });
  }

  /// Whether the result of an op may be non-finite for finite operands of ordinary magnitude.
  static bool isSuspect(Operation *op) {
    if (auto cast = dyn_cast<CastOp>(op)) // of a parameter: no line, and no surprise
      return cast.getType().getElementType().isF16() && !userLine(op->getLoc()).empty();
    return op->hasTrait<traits::MayBeNonFinite>();
  }

  /// The ops, in their order, that a result of a call is computed by. Of a kernel those that it follows from.
  static SmallVector<Operation *> makersOf(OpResult result) {
    Operation *call = result.getOwner();
    if (!isa<KernelOp, TiledOp>(call)) return {call};
    llvm::SmallPtrSet<Operation *, 16> needed;
    SmallVector<Value> work{call->getRegion(0).front().getTerminator()->getOperand(result.getResultNumber())};
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp(); op && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    SmallVector<Operation *> order;
    for (Operation &op : call->getRegion(0).front()) {
      if (!needed.contains(&op)) continue;
      if (isa<KernelOp>(op)) // in a tiled op
        for (OpResult inner : op.getResults()) llvm::append_range(order, makersOf(inner));
      else
        order.push_back(&op);
    }
    return order;
  }

  /// The suspects among them; else the last that computes.
  static SmallVector<Operation *> sourcesOf(OpResult result) {
    constexpr unsigned most = 4;
    SmallVector<Operation *> makers = makersOf(result), suspects;
    for (Operation *op : makers) {
      auto isSame = [&](Operation *other) {
        return op->getName() == other->getName() && op->getLoc() == other->getLoc();
      };
      if (isSuspect(op) && suspects.size() < most && llvm::none_of(suspects, isSame)) suspects.push_back(op);
    }
    if (!suspects.empty()) return suspects;
    for (Operation *op : llvm::reverse(makers))
      if (!isa<CastOp, ConstantOp>(op)) return {op};
    return {result.getOwner()};
  }

  /// The contraction of numbers of eight bits that an op divides by its scales.
  static Value behindScales(Operation *op) {
    if (!isa_and_nonnull<MulOp>(op)) return {};
    for (Value value : op->getOperands()) {
      auto argument = dyn_cast<BlockArgument>(value);
      if (argument && isa<KernelOp>(argument.getOwner()->getParentOp()))
        value = argument.getOwner()->getParentOp()->getOperand(argument.getArgNumber());
      auto contract = value.getDefiningOp<ContractOp>();
      if (contract && isFp8(contract.getLhs().getType().getElementType())) return value;
    }
    return {};
  }

  /// The sum in front of GELU is that of a contraction without it.
  static std::string nameOf(ContractOp contract, bool isExtra) {
    std::string name = "contract";
    if (contract.getInit()) name += " init";
    if (contract.getBias()) name += " bias";
    if (contract.getEpilogue() == Epilogue::GeluGrad) name += isExtra ? " gelu_grad sum" : " gelu_grad";
    if (contract.getEpilogue() == Epilogue::Gelu && !isExtra) name += " gelu";
    return name;
  }

  /// The op that gives a result, inside kernels and in front of roundings; of a contraction with what it adds to.
  static std::string makerOf(OpResult result) {
    Value value = result;
    while (true) {
      Operation *op = value.getDefiningOp();
      if (isa_and_nonnull<KernelOp, TiledOp>(op))
        value = op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
      else if (isa_and_nonnull<CastOp>(op))
        value = op->getOperand(0);
      else if (Value sum = behindScales(op))
        value = sum;
      else if (!op)
        return "argument";
      else if (auto contract = dyn_cast<ContractOp>(op))
        return nameOf(contract, cast<OpResult>(value).getResultNumber() > 0);
      else
        return op->getName().stripDialect().str();
    }
  }

  void writeResult(OpResult result, PlaceAttr place, StringRef name) {
    NamedTensorType type = tensorType(result);
    json.object([&] {
      if (!name.empty()) json.attribute("name", name);
      json.attribute("op", makerOf(result));
      json.attributeArray("from", [&] {
        for (Operation *op : sourcesOf(result))
          json.object([&] {
            json.attribute("op", isa<CastOp>(op) ? "rounding" : op->getName().stripDialect());
            json.attribute("at", userLine(op->getLoc()));
          });
      });
      std::string element;
      llvm::raw_string_ostream(element) << type.getElementType();
      json.attribute("type", element);
      json.attributeArray("axes", [&] {
        for (AxisAttr axis : type.getAxes())
          json.array([&] {
            json.value(axis.getName());
            json.value(axis.getSize());
          });
      });
      json.attribute("offset", place.getOffset());
      json.attributeArray("strides", [&] {
        for (int64_t stride : place.getStrides()) json.value(stride);
      });
      json.attribute("infinite", infinities.isPossible(result));
    });
  }

  llvm::json::OStream &json;
  Infinities infinities;
};
} // namespace

void tessera::writeTrace(func::FuncOp function, llvm::json::OStream &json) {
  json.attributeArray("trace", [&] { TraceWriter(json).writeBlock(function.getBody().front()); });
}
