//===- Accumulators.cpp - sums of gradients inside the repeats that compute the gradients ---===//
//
//   before   %g = tsr.repeat [layer: 12] slice (…) {            %sum: [layer: 12, in, out], carried over micro-batches
//              %d = tsr.contract %dy, %x over [batch]
//              tsr.yield %d
//            }
//            %next = tsr.add %sum, %g
//   after    %next = tsr.repeat [layer: 12] slice (%s = %sum, …) {
//              %d = tsr.contract %dy, %x over [batch] init %s
//              tsr.yield %d
//            }
//
// Each iteration adds to its slot of the sum, so the stack of the terms needs no memory, and no pass over it adds it.
// `schedule` lets the stacked result take the storage of the sliced operand.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Prepare.h"

using namespace mlir;
using namespace tessera;

/// The value that a repeat stacks as `value`; null if it is no stack.
static Value slotOf(Value value) {
  auto repeat = value.getDefiningOp<RepeatOp>();
  unsigned number = repeat ? cast<OpResult>(value).getResultNumber() : 0;
  return repeat && number >= repeat.getCarried().size() ? repeat.getYield().getValues()[number] : Value();
}

/// Whether contractions compute a value that has one use, perhaps slot by slot, and could add it to another value in
/// place.
static bool canBeAddedInPlace(Value term) {
  if (!term.hasOneUse()) return false;
  if (Value slot = slotOf(term))
    return slot.getParentBlock() == &term.getDefiningOp()->getRegion(0).front() && canBeAddedInPlace(slot);
  auto contract = term.getDefiningOp<ContractOp>();
  return contract && !contract.getInit() && !contract.getBias() && !contract.getEpilogue();
}

/// Makes contractions add a value to `sum`.
static void addInPlace(Value term, Value sum) {
  if (Value slot = slotOf(term)) return addInPlace(slot, addSliced(term.getDefiningOp<RepeatOp>(), sum));
  term.getDefiningOp<ContractOp>().getInitMutable().assign(sum);
}

/// Whether `sum` is in memory before `repeat` runs, and only `add` reads it from then on: it is carried by the repeat
/// around it, or the result of an earlier one.
static bool isAccumulator(Value sum, RepeatOp repeat, AddOp add) {
  if (sum.getParentBlock() != repeat->getBlock() || !sum.hasOneUse() || *sum.user_begin() != add) return false;
  if (Operation *producer = sum.getDefiningOp()) return isa<RepeatOp>(producer) && producer->isBeforeInBlock(repeat);
  auto around = dyn_cast<RepeatOp>(repeat->getParentOp());
  return around && llvm::is_contained(around.getCarriedArgs(), sum);
}

static bool moveIntoRepeat(AddOp add) {
  for (unsigned side : {1u, 0u}) {
    Value stack = add->getOperand(side), sum = add->getOperand(1 - side);
    auto repeat = stack.getDefiningOp<RepeatOp>();
    if (!repeat || repeat->getBlock() != add->getBlock() || !isAccumulator(sum, repeat, add)) continue;
    if (!slotOf(stack) || !canBeAddedInPlace(stack)) continue;
    if (sum.getType() != stack.getType() || add.getType() != stack.getType()) continue;
    addInPlace(stack, sum);
    add.getResult().replaceAllUsesWith(stack);
    add.erase();
    return true;
  }
  return false;
}

void tessera::accumulateInRepeats(ModuleOp module) {
  // Not in an audit: `shadow` computes op by op, and its calls are paired with those of `step`.
  if (hasShadow(module)) return;
  SmallVector<AddOp> additions;
  module.walk([&](AddOp add) { additions.push_back(add); });
  for (AddOp add : additions) moveIntoRepeat(add);
}
