//===- Dataflow.cpp - which values follow from which ----------------------===//

#include "passes/precision/Dataflow.h"
#include "passes/precision/Policy.h"

using namespace mlir;
using namespace tessera;

llvm::DenseSet<Value> tessera::followForwards(func::FuncOp function,
                                              function_ref<ValueRange(Operation *, bool isOperandFound)> made) {
  llvm::DenseSet<Value> found;
  bool isChanged = true;
  auto mark = [&](Value value) { isChanged |= found.insert(value).second; };
  auto isFound = [&](Value value) { return found.contains(value); };
  while (isChanged) {
    isChanged = false;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto repeat = dyn_cast<RepeatOp>(op);
      if (!repeat) {
        llvm::for_each(made(op, llvm::any_of(op->getOperands(), isFound)), mark);
        return;
      }
      Block &block = repeat.getBlock();
      for (OpOperand &operand : op->getOpOperands())
        if (isFound(operand.get())) mark(block.getArgument(operand.getOperandNumber() + 1));
      for (auto [i, yielded] : llvm::enumerate(repeat.getYield().getValues())) {
        if (!isFound(yielded)) continue;
        mark(repeat.getResult(i));
        if (i < repeat.getCarried().size()) mark(block.getArgument(i + 1));
      }
    });
  }
  return found;
}

Value tessera::scaledFactor(Operation *op) {
  auto isScalar = [](Value value) { return tensorType(value).isScalar(); };
  if (!isa<MulOp, DivOp>(op)) return {};
  if (isScalar(op->getOperand(1))) return op->getOperand(0);
  return isa<MulOp>(op) && isScalar(op->getOperand(0)) ? op->getOperand(1) : Value();
}

/// All values that are a carried value in some iteration.
static SmallVector<Term> termsOfCarried(RepeatOp repeat, unsigned number) {
  return {{repeat->getOperand(number), true},
          {repeat.getBlock().getArgument(number + 1), true},
          {repeat->getResult(number), true},
          {repeat.getYield().getValues()[number], true}};
}

SmallVector<Term> tessera::termsOf(Value gradient) {
  if (auto argument = dyn_cast<BlockArgument>(gradient)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (!repeat || argument.getArgNumber() == 0) return {};
    unsigned number = argument.getArgNumber() - 1;
    if (number < repeat.getCarried().size()) return termsOfCarried(repeat, number);
    return {{repeat->getOperand(number), false}};
  }
  auto result = cast<OpResult>(gradient);
  Operation *op = result.getOwner();
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    unsigned number = result.getResultNumber();
    if (number < repeat.getCarried().size()) return termsOfCarried(repeat, number);
    return {{repeat.getYield().getValues()[number], false}};
  }
  if (op->hasTrait<traits::Linear>())
    return llvm::map_to_vector(op->getOperands(),
                               [&](Value operand) { return Term{operand, op->getNumOperands() > 1}; });
  if (movesElements(op) && !isa<BroadcastOp>(op)) return {{op->getOperand(0), false}};
  if (Value factor = scaledFactor(op)) return {{factor, true}};
  return {};
}
