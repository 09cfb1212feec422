//===- InPlace.cpp - which results may take the storage of an operand ------------===//

#include "passes/memory/InPlace.h"
#include "passes/analysis/LaunchGroups.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

/// Whether an op of a kernel reads this operand only at its own point of the loop nest.
static bool readsPointwise(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<ReduceOp>(op) || (isa<ElementwiseOpInterface>(op) && !isa<ReorderOp>(op));
}

bool tessera::mayWriteOver(KernelOp kernel, unsigned operand, unsigned result) {
  auto type = tensorType(kernel.getResult(result));
  if (kernel.getInputs()[operand].getType() != type || !coversRoot(kernel.getInputs()[operand])) return false;
  BlockArgument argument = kernel.getBlock().getArgument(operand);
  if (auto scatter = kernel.getBlock().getTerminator()->getOperand(result).getDefiningOp<ScatterAddOp>())
    return scatter.getInit() == argument && argument.hasOneUse();
  // A row value is written while later sweeps may still read rows; element values in the last sweep, point by point.
  if (type.getRank() != static_cast<int64_t>(kernel.getParallel().size() + kernel.getSerial().size())) return false;
  return llvm::all_of(argument.getUses(), readsPointwise);
}

/// The operands of an op that are in the buffer of `root`.
static SmallVector<unsigned> operandsIn(Operation *op, Value root) {
  SmallVector<unsigned> found;
  for (OpOperand &use : op->getOpOperands())
    if (viewRoot(use.get()) == root) found.push_back(use.getOperandNumber());
  return found;
}

/// Whether another op of the launch of `op` reads the buffer of `value`.
static bool isReadInLaunch(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return isStorageView(user) ? isReadInLaunch(user->getResult(0), op) : user != op && isSameLaunch(op, user);
  });
}

bool tessera::mayTakeStorage(Operation *op, Value dying, Value made) {
  SmallVector<unsigned> operands = operandsIn(op, dying);
  if (operands.size() != 1) return false;
  unsigned operand = operands.front();
  if (auto kernel = dyn_cast<KernelOp>(op)) {
    auto result = dyn_cast<OpResult>(made);
    return result && result.getOwner() == op && mayWriteOver(kernel, operand, result.getResultNumber()) &&
           !isReadInLaunch(dying, op);
  }
  if (auto contract = dyn_cast<ContractOp>(op)) {
    if (made != contract.getResult() || !contract.getInit()) return false;
    return contract.getInitMutable().begin()->getOperandNumber() == operand && coversRoot(contract.getInit()) &&
           !isReadInLaunch(dying, op);
  }
  if (isa<WaitOp>(op)) return operand == 0 && made == op->getResult(0);
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    if (operand >= repeat.getCarried().size() || !coversRoot(repeat.getCarried()[operand])) return false;
    return made == repeat.getResult(operand) || made == repeat.getCarriedArgs()[operand];
  }
  return false;
}

/// Whether all ops that read `argument`, also through views, precede `op` or are `op`.
static bool isReadUntil(Value argument, Operation *op) {
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    if (isStorageView(user)) return isReadUntil(user->getResult(0), op);
    return user->getBlock() == op->getBlock() && (user == op || user->isBeforeInBlock(op));
  });
}

bool tessera::mayTakeSlots(RepeatOp repeat, Value dying, Value made) {
  // All that follows is possible for values of equal size only; few are.
  if (tensorType(dying).getNumElements() != tensorType(made).getNumElements()) return false;
  SmallVector<unsigned> operands = operandsIn(repeat, dying);
  unsigned carried = repeat.getCarried().size();
  auto stack = dyn_cast<OpResult>(made);
  if (!stack || stack.getOwner() != repeat || stack.getResultNumber() < carried || operands.size() != 1) return false;
  unsigned operand = operands.front();
  bool isSliced = operand >= carried && operand < carried + repeat.getSliced().size();
  if (!isSliced || repeat->getOperand(operand).getType() != made.getType() || !coversRoot(repeat->getOperand(operand)))
    return false;
  Value argument = repeat.getSlicedArgs()[operand - carried];
  Value yielded = repeat.getYield().getValues()[stack.getResultNumber()], slot = viewRoot(yielded);
  Operation *writer = slot.getDefiningOp();
  if (!writer || writer->getBlock() != &repeat.getBlock() || !coversRoot(yielded)) return false;
  if (!isReadUntil(argument, writer) || isReadInLaunch(argument, writer)) return false;
  bool isRead = !operandsIn(writer, argument).empty();
  auto inner = dyn_cast<RepeatOp>(writer);
  return !isRead || mayTakeStorage(writer, argument, slot) || (inner && mayTakeSlots(inner, argument, slot));
}
