//===- SavedValues.cpp - what a repeat saves for its backward pass --------===//

#include "ir/autodiff/SavedValues.h"
#include "ir/program/Target.h"

using namespace mlir;
using namespace tessera;

SavedValues::SavedValues(RepeatOp forward, Block &adjoint)
    : forward(forward), givesBiasedSumsOnly(Target::of(forward).givesBiasedSumsOnly) {
  for (Operation &op : adjoint) {
    // An elementwise op or a reduction runs in a loop that can also compute its operands.
    bool readsMemory = !isa<ElementwiseOpInterface, ReduceOp, BroadcastOp>(op);
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() == &forward.getBlock()) need(operand, readsMemory);
  }
  for (Value value : elementwise)
    if (!saved.contains(value)) decide(value);
  for (Value value : stored) decideStored(value);
}

/// 1.
bool SavedValues::isFree(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() == 0 || argument.getArgNumber() > forward.getCarried().size();
  if (auto it = freeValues.find(value); it != freeValues.end()) return it->second;
  Operation *op = value.getDefiningOp();
  bool isCheap = isa<ElementwiseOpInterface, ConstantOp, IndexOp, RandomOp, BroadcastOp, RenameOp, SplitOp, MergeOp,
                     SliceOp, PadOp>(op) &&
                 llvm::all_of(op->getOperands(), [&](Value operand) { return isFree(operand); });
  freeValues[value] = isCheap;
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

/// Whether a loop that reads the value can compute it: rules 4 and 5.
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

/// 5.
void SavedValues::decideStored(Value value) {
  if (saved.contains(value) || recomputed.contains(value)) return;
  RecomputationCone cone = coneOf(value);
  if (cone.unsaved.empty())
    recomputed.insert(cone.computed.begin(), cone.computed.end());
  else
    saved.insert(value);
}
