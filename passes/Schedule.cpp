//===- Schedule.cpp - the driver of `tsr-schedule` ------------------------===//
//
// 1. For each entry function decide which values share storage (`StoragePlan`). Where two values would collide, copy an
//    operand and decide again.
// 2. Have exchanges run beside kernels, on a device that can (`overlapExchanges`), within the memory that there is.
// 3. Fuse horizontally: kernels on a GPU (`formLaunches`), GEMMs on a CPU (`fuseGemmsHorizontally`), where that costs
//    neither copies nor memory.
// 4. Move ops where that lowers peak live memory (`lowerPeak`). Fused ops stay together.
// 5. Place state at the start of the arena, in the order of the table.
// 6. Pack the other buffers of each entry function after it by lifetime (`packBuffers`).
// 7. Write the places on arguments, results, ops and repeats.
// 8. Clear the mark of what the target cannot fuse, or computes faster one by one (`splitLaunches`, `splitGemms`).
//    Memory was planned as if it were fused, so that no plan depends on speeds. Marks are final: code generation
//    follows them.
//
//===----------------------------------------------------------------------===//

#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/analysis/Views.h"
#include "passes/launch/HorizontalGemms.h"
#include "passes/launch/Launches.h"
#include "passes/launch/OverlappedExchanges.h"
#include "passes/memory/EntryPlaces.h"
#include "passes/memory/MemoryLimit.h"
#include "passes/memory/PeakOrder.h"
#include "passes/memory/PlanStorage.h"
#include "llvm/ADT/Sequence.h"

namespace tessera {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Moving one kernel may increase the memory of an entry function by 1 / kernelGrowthDivisor of what it was, and always
/// by so many bytes.
static constexpr int64_t kernelGrowthDivisor = 4096, littleBytes = 64 << 10;

namespace {
struct SchedulePass : tessera::impl::SchedulePassBase<SchedulePass> {
  using Base::Base;
  void runOnOperation() override;
  int64_t overlap(func::FuncOp function, StoragePlan &plan, int64_t room);
  void fuseKernels(func::FuncOp function, const StoragePlan &before, const MemoryLimit &limit);
};
} // namespace

/// Bytes that may be live in addition at each op, without raising the peak.
static MemoryRoom roomOf(func::FuncOp function, const StoragePlan &plan, int64_t most) {
  Timeline line(function);
  SmallVector<Lifetime> lifetimes = plan.lifetimes();
  MemoryRoom memory;
  memory.slack = std::max(most / kernelGrowthDivisor, littleBytes);
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isInsideKernel(op)) return;
    int64_t live = 0;
    for (const Lifetime &lifetime : lifetimes)
      if (lifetime.start <= line.at(op) && line.at(op) <= lifetime.end) live += lifetime.bytes;
    memory.room[op] = std::max<int64_t>(0, most - live);
    // A repeat as a whole has the room of the op in it that has the least.
    for (Operation *around = op->getParentOp(); isa<RepeatOp>(around); around = around->getParentOp())
      memory.room[around] = std::min(memory.room.lookup(around), memory.room.lookup(op));
  });
  return memory;
}

/// Fuses kernels of a function whose storage is planned, where that needs neither copies nor more memory. Candidates
/// are judged by peak live memory; if packing then needs more, again by packing.
void SchedulePass::fuseKernels(func::FuncOp function, const StoragePlan &before, const MemoryLimit &limit) {
  OpOrder order(function);
  MemoryRoom memory = roomOf(function, before, limit.getMost());
  unsigned fused = formLaunches(function, memory, [&] { return limit.holds(false); });
  if (fused > 0 && !limit.holds(true)) {
    order.restore();
    fused = formLaunches(function, memory, [&] { return limit.holds(true); });
  }
  launchesSaved += fused;
}

/// What the arena may take: what is asked for, and what the device has but for a part that other memory of the program
/// needs.
static int64_t largestArena(const MemorySettings &settings, const Target &target) {
  constexpr int64_t parts = 16;
  int64_t device = target.figures.memoryBytes.value_or(std::numeric_limits<int64_t>::max());
  int64_t most = device - device / parts;
  return settings.arena ? std::min(most, *settings.arena) : most;
}

/// Has exchanges of a function whose storage is planned run beside kernels, as many as `room` bytes beside state allow;
/// those that need the least memory first. Returns the bytes that are lacking for all of them.
int64_t SchedulePass::overlap(func::FuncOp function, StoragePlan &plan, int64_t room) {
  OpOrder order(function);
  const SmallVector<Overlap> all = findOverlaps(function);
  SmallVector<unsigned> byBytes = llvm::to_vector(llvm::seq<unsigned>(all.size()));
  llvm::stable_sort(byBytes, [&](unsigned a, unsigned b) { return all[a].bytes < all[b].bytes; });
  std::optional<StoragePlan> changed;
  int64_t lacking = 0;
  auto fits = [&](size_t count) {
    clearOverlaps(function);
    order.restore();
    SmallVector<unsigned> chosen(ArrayRef(byBytes).take_front(count));
    llvm::sort(chosen);
    applyOverlaps(llvm::map_to_vector(chosen, [&](unsigned i) { return all[i]; }));
    changed.emplace(function);
    int64_t bytes = packBuffers(changed->lifetimes()).bytes;
    if (count == all.size()) lacking = std::max<int64_t>(0, bytes - room);
    return changed->getCopies().empty() && bytes <= room;
  };
  size_t count = all.size();
  if (count == 0) return 0;
  if (!fits(count)) {
    size_t tooMany = count;
    for (count = 0; count + 1 < tooMany;) {
      size_t middle = (count + tooMany) / 2;
      (fits(middle) ? count : tooMany) = middle;
    }
    fits(count);
  }
  exchangesOverlapped += count;
  if (count > 0) plan = std::move(*changed);
  return lacking;
}

/// Gives state its places and returns the bytes it takes.
static int64_t placeState(ModuleOp module) {
  int64_t bytes = 0;
  for (StateOp state : stateTable(module)) {
    state.setPlaceAttr(PlaceAttr::get(module.getContext(), bytes, {}));
    bytes += alignedBytes(state.getTensorType().getNumBytes());
  }
  return bytes;
}

void SchedulePass::runOnOperation() {
  ModuleOp module = getOperation();
  FailureOr<Target> target = Target::read(module);
  if (failed(target)) return signalPassFailure();
  MemorySettings settings = MemorySettings::of(module);
  int64_t stateBytes = placeState(module), arena = stateBytes, bound = stateBytes, lacking = 0;
  for (func::FuncOp function : entryFunctions(module)) {
    unsigned copies = 0;
    FailureOr<StoragePlan> plan = planStorage(function, copies);
    copiesInserted += copies;
    if (failed(plan)) return signalPassFailure();
    // Not for `init`, which runs once, nor for an audit, which pairs the calls of two functions by their order.
    if (function.getName() != "init" && !hasShadow(module)) {
      if (overlapsExchanges || target->overlapsExchanges) {
        int64_t bytes = overlap(function, *plan, largestArena(settings, *target) - stateBytes);
        if (function.getName() == "step") lacking = bytes;
      }
      MemoryLimit limit(function, *plan, stateBytes, settings.arena);
      if (target->fusesLaunches) fuseKernels(function, *plan, limit);
      if (target->fusesGemms && !hasFusedGemms(function)) gemmsFused += fuseGemmsHorizontally(function, limit);
      opsMoved += lowerPeak(function);
      plan = StoragePlan(function);
    }
    auto [bytes, least] = packEntry(*plan, module);
    arena = std::max(arena, bytes), bound = std::max(bound, least);
    writePlaces(function, *plan);
    if (target->fusesLaunches) launchesSaved -= splitLaunches(function, *target);
    if (target->fusesGemms) gemmsFused -= splitGemms(function, *target);
    setHasFusedGemms(function, false);
  }
  Builder builder(module.getContext());
  module->setAttr(attrs::arena, builder.getI64IntegerAttr(arena));
  module->setAttr(attrs::arenaBound, builder.getI64IntegerAttr(bound));
  if (lacking > 0) module->setAttr(attrs::arenaLacking, builder.getI64IntegerAttr(lacking));
  arenaBytes = arena, lowerBound = bound;
}
