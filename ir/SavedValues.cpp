//===- SavedValues.cpp - what a repeat keeps for its backward pass --------===//

#include "ir/SavedValues.h"

using namespace mlir;
using namespace tessera;

SavedValues::SavedValues(RepeatOp forward, Block &adjoint) : forward(forward) {
  for (Operation &op : adjoint) {
    // Elementwise ops and reductions run in a loop that can compute its operands on the way.
    bool readsMemory = !isa<ElementwiseOpInterface, ReduceOp, BroadcastOp>(op);
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() == &forward.getBlock()) need(operand, readsMemory);
  }
  for (Value value : elementwise)
    if (!saved.contains(value)) decide(value);
}

/// 1.
bool SavedValues::isAtHand(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber() == 0 || argument.getArgNumber() > forward.getCarried().size();
  if (auto it = atHand.find(value); it != atHand.end()) return it->second;
  Operation *op = value.getDefiningOp();
  bool isCheap = isa<ElementwiseOpInterface, ConstantOp, IndexOp, RandomOp, BroadcastOp, RenameOp, SplitOp, MergeOp,
                     SliceOp, PadOp>(op) &&
                 llvm::all_of(op->getOperands(), [&](Value operand) { return isAtHand(operand); });
  atHand[value] = isCheap;
  return isCheap;
}

/// 2. and 3.
void SavedValues::need(Value value, bool isReadInMemory) {
  if (isAtHand(value)) return;
  Operation *op = value.getDefiningOp();
  if (op && isView(op)) return need(op->getOperand(0), isReadInMemory);
  if (!isReadInMemory && isa_and_nonnull<ElementwiseOpInterface>(op))
    elementwise.insert(value);
  else
    saved.insert(value);
}

/// 4.
void SavedValues::decide(Value value) {
  // Elementwise values on the way up to what is saved, and what would have to be saved on top.
  llvm::SetVector<Value> onTheWay, missing;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (isAtHand(next) || saved.contains(next) || again.contains(next)) continue;
    if (op && isView(op)) {
      work.push_back(op->getOperand(0));
    } else if (isa_and_nonnull<ElementwiseOpInterface>(op)) {
      if (onTheWay.insert(next)) llvm::append_range(work, op->getOperands());
    } else {
      missing.insert(next);
    }
  }
  int64_t bytes = 0;
  for (Value other : missing) bytes += tensorType(other).getNumBytes();
  if (bytes > tensorType(value).getNumBytes()) {
    saved.insert(value);
    return;
  }
  again.insert(onTheWay.begin(), onTheWay.end());
  saved.insert(missing.begin(), missing.end());
}
