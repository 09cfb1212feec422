//===- RegionArguments.cpp - values that cross the border of a region -----===//

#include "ir/autodiff/RegionArguments.h"
#include "ir/autodiff/ReverseMode.h"

using namespace mlir;
using namespace tessera;

/// Operands of an attention in front of the captures: q, k and v, which its regions do not see.
static constexpr unsigned numFactors = 3;

bool tessera::isCarried(BlockArgument argument) {
  auto repeat = dyn_cast_or_null<RepeatOp>(argument.getOwner()->getParentOp());
  return repeat && llvm::is_contained(repeat.getCarriedArgs(), argument);
}

SmallVector<Value> tessera::valuesOf(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp(); // null while an adjoint is built
  unsigned number = argument.getArgNumber();
  if (number == 0) return {};
  if (isa_and_nonnull<AttentionOp>(op)) return {op->getOperand(numFactors + number - 1)};
  auto repeat = dyn_cast_or_null<RepeatOp>(op);
  if (!repeat) return {};
  SmallVector<Value> values{repeat->getOperand(number - 1)};
  if (isCarried(argument)) values.push_back(repeat.getYield().getValues()[number - 1]);
  return values;
}

/// The arguments that stand for an operand in the regions of a repeat or an attention.
static SmallVector<BlockArgument, 2> argumentsOf(OpOperand &operand) {
  Operation *op = operand.getOwner();
  unsigned number = operand.getOperandNumber();
  SmallVector<BlockArgument, 2> arguments;
  for (Region &region : op->getRegions()) {
    if (region.empty()) continue;
    if (isa<RepeatOp>(op)) arguments.push_back(region.getArgument(1 + number));
    if (isa<AttentionOp>(op) && number >= numFactors) arguments.push_back(region.getArgument(1 + number - numFactors));
  }
  return arguments;
}

/// Whether every way from the value to what its region yields leads through a side of a select, and up to there through
/// ops that pass zeros.
static bool isMaskedInRegion(Value value) {
  ValueSet visited;
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!visited.insert(next).second) continue;
    for (OpOperand &use : next.getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp>(user)) return false;
      if (!isa<AdjointOpInterface>(user) || startsMaskedGradient(use)) continue;
      if (!passesZeros(user)) return false;
      work.push_back(user->getResult(0));
    }
  }
  return true;
}

bool tessera::startsMaskedGradient(OpOperand &operand) {
  if (isa<SelectOp>(operand.getOwner())) return true;
  auto arguments = argumentsOf(operand);
  return !arguments.empty() && llvm::all_of(arguments, [](BlockArgument argument) {
    return !isCarried(argument) && isMaskedInRegion(argument);
  });
}
