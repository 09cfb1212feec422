//===- DelayedSums.cpp - which ops may leave a sum to later ones ----------===//

#include "passes/sharding/search/DelayedSums.h"
#include "passes/sharding/LinearOps.h"

using namespace mlir;
using namespace tessera;

bool tessera::isSum(Operation *op) {
  auto reduce = dyn_cast_or_null<ReduceOp>(op);
  return isa_and_present<ContractOp, GatherOp, ScatterAddOp>(op) || (reduce && reduce.getKind() == ReduceKind::Sum);
}

DelayedSums::DelayedSums(func::FuncOp function) {
  function.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      for (OpResult result : repeat->getResults().take_front(repeat.getCarried().size())) addCarried(result);
    } else if (isa<AddOp, ReduceOp>(op)) {
      Trace trace;
      trace.mayBeStacked = isa<ReduceOp>(op);
      if (isLinear(op, trace) && trace.hasSum) add(trace);
    }
  });
}

/// What a repeat adds to a value that begins with zeros.
void DelayedSums::addCarried(OpResult result) {
  auto repeat = cast<RepeatOp>(result.getOwner());
  unsigned number = result.getResultNumber();
  Trace trace;
  trace.accumulator = repeat.getBlock().getArgument(1 + number);
  trace.mayBeStacked = true;
  Operation *next = repeat.getYield().getValues()[number].getDefiningOp();
  auto element = dyn_cast<FloatType>(tensorType(result).getElementType());
  bool isWide = element && element.getIntOrFloatBitWidth() >= 32;
  if (!isWide || !isKnownZero(repeat.getCarried()[number]) || !next || !next->hasOneUse() || isa<RepeatOp>(next) ||
      !isLinear(next, trace))
    return;
  if (!trace.accumulates || !trace.hasSum) return;
  add(trace);
  repeated.insert(result);
}

void DelayedSums::add(const Trace &trace) {
  ops.insert(trace.ops.begin(), trace.ops.end());
  repeated.insert(trace.stacks.begin(), trace.stacks.end());
}

/// The accumulator is a term of additions only: of what is scaled or reduced it would be scaled again.
bool DelayedSums::isLinear(Operation *op, Trace &trace) {
  SmallVector<Value, 2> summed = summedOperands(op);
  if (summed.empty()) return false;
  trace.ops.push_back(op);
  bool before = trace.accumulates;
  return llvm::all_of(summed, [&](Value value) { return isTerm(value, trace); }) &&
         (isa<AddOp, SelectOp>(op) || trace.accumulates == before);
}

bool DelayedSums::isTerm(Value value, Trace &trace) {
  if (!value.hasOneUse()) return false;
  if (value == trace.accumulator) return trace.accumulates = true;
  Operation *op = value.getDefiningOp();
  if (!op) return false;
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (!trace.mayBeStacked || number < repeat.getCarried().size()) return false;
    trace.stacks.push_back(cast<OpResult>(value));
    bool before = trace.accumulates;
    return isTerm(repeat.getYield().getValues()[number], trace) && trace.accumulates == before;
  }
  // A sum of its own, or one of its operand's.
  if (isSum(op)) {
    Trace through = trace;
    through.accumulator = {};
    if (isLinear(op, through)) {
      through.accumulator = trace.accumulator, through.accumulates = trace.accumulates;
      trace = through;
    }
    return trace.hasSum = true;
  }
  return isLinear(op, trace);
}
