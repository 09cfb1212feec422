//===- SavedValues.cpp - what a repeat saves for its backward pass --------===//

#include "ir/autodiff/SavedValues.h"
#include "ir/program/Target.h"

using namespace mlir;
using namespace tessera;

/// Elementwise ops and reductions run in a loop that can compute its operands too.
static bool readsMemory(Operation *op) { return !isa<ElementwiseOpInterface, ReduceOp, BroadcastOp>(op); }

SavedValues::SavedValues(RepeatOp forward, Block &adjoint) : forward(forward) {
  Target target = Target::of(forward);
  givesBiasedSumsOnly = target.library.givesBiasedSumsOnly, savesStoredOperands = target.savesStoredOperands;
  for (Operation &op : adjoint)
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() == &forward.getBlock()) need(operand, readsMemory(&op));
  for (Value value : elementwise)
    if (!saved.contains(value)) decide(value);
  for (Value value : stored) decideStored(value);
}

/// 1.
bool SavedValues::isFree(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() == 0 || argument.getArgNumber() > forward.getCarried().size();
  if (auto it = knownFree.find(value); it != knownFree.end()) return it->second;
  Operation *op = value.getDefiningOp();
  bool isCheap =
      (isa<ElementwiseOpInterface>(op) || op->hasTrait<traits::IsSource>() || op->hasTrait<traits::MovesElements>()) &&
      llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand); });
  knownFree[value] = isCheap;
  return isCheap;
}

bool SavedValues::isSumWithBias(AddOp add) {
  for (auto [product, bias] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    auto contract = product.getDefiningOp<ContractOp>();
    if (contract && contract->hasOneUse() && contract.getType() == add.getType() && isFree(bias) &&
        bias.getType().getRank() < add.getType().getRank())
      return true;
  }
  return false;
}

/// Whether a loop that reads the value can compute it, as 4. and 5. ask.
bool SavedValues::isElementwise(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto add = dyn_cast_or_null<AddOp>(op); add && givesBiasedSumsOnly && isSumWithBias(add)) return false;
  return isa_and_nonnull<ElementwiseOpInterface>(op);
}

/// 2. and 3.
void SavedValues::need(Value value, bool isReadInMemory) {
  if (isFree(value)) return;
  Operation *op = value.getDefiningOp();
  if (isReshape(op)) return need(op->getOperand(0), isReadInMemory);
  if (isElementwise(value))
    (isReadInMemory ? stored : elementwise).insert(value);
  else
    saved.insert(value);
}

SavedValues::RecomputationCone SavedValues::coneOf(Value value) {
  RecomputationCone cone;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (isFree(next) || saved.contains(next) || recomputed.contains(next)) continue;
    if (isReshape(op)) {
      work.push_back(op->getOperand(0));
    } else if (isElementwise(next)) {
      if (cone.computed.insert(next)) llvm::append_range(work, op->getOperands());
    } else {
      cone.unsaved.insert(next);
    }
  }
  return cone;
}

/// 4.
void SavedValues::decide(Value value) {
  RecomputationCone cone = coneOf(value);
  int64_t bytes = 0;
  for (Value other : cone.unsaved) bytes += tensorType(other).getNumBytes();
  if (bytes > tensorType(value).getNumBytes()) {
    saved.insert(value);
    return;
  }
  recomputed.insert(cone.computed.begin(), cone.computed.end());
  saved.insert(cone.unsaved.begin(), cone.unsaved.end());
}

/// Whether a contraction of the body reads the value, so that it is in memory there.
static bool isStoredForContraction(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<ContractOp>(user) || (isReshape(user) && isStoredForContraction(user->getResult(0)));
  });
}

/// 5.
void SavedValues::decideStored(Value value) {
  if (saved.contains(value) || recomputed.contains(value)) return;
  RecomputationCone cone = coneOf(value);
  if (cone.unsaved.empty() && !(savesStoredOperands && isStoredForContraction(value)))
    recomputed.insert(cone.computed.begin(), cone.computed.end());
  else
    saved.insert(value);
}
