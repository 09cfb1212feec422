//===- EntryPlaces.cpp - places of the values of an entry function --------===//

#include "passes/memory/EntryPlaces.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/memory/PlanStorage.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

PackedEnd tessera::packEntry(StoragePlan &plan, ModuleOp module, ArrayRef<Lifetime> beside) {
  llvm::StringMap<StateOp> states = statesByPath(module);
  int64_t base = stateBytes(module);
  SmallVector<Lifetime> lifetimes = plan.lifetimes();
  llvm::append_range(lifetimes, beside);
  Packing packing = packBuffers(lifetimes);
  const int64_t *offset = packing.offsets.begin();
  for (Buffer &buffer : plan.getBuffers())
    buffer.offset = buffer.state.empty() ? base + *offset++ : states.lookup(buffer.state).getPlace()->getOffset();
  return {base + packing.bytes, base + packing.bound};
}

void tessera::writePlaces(func::FuncOp function, const StoragePlan &plan) {
  auto placesOf = [&](auto values) {
    SmallVector<Attribute> places;
    for (Value value : values) places.push_back(plan.place(value));
    return places;
  };
  Builder builder(function.getContext());
  setArgumentAttrs(function, attrs::place, placesOf(function.getArguments()));
  function.getBody().walk([&](Operation *op) {
    if (isInsideKernel(op)) return;
    if (op->getNumResults()) op->setAttr(attrs::places, builder.getArrayAttr(placesOf(op->getResults())));
    if (auto repeat = dyn_cast<RepeatOp>(op))
      repeat.setArgPlacesAttr(builder.getArrayAttr(placesOf(repeat.getBlock().getArguments())));
    if (isa<func::ReturnOp>(op)) setResultAttrs(function, attrs::place, placesOf(op->getOperands()));
  });
}
