//===- PeakMemory.cpp - what a step holds where it holds most --------------===//

#include "tools/PeakMemory.h"
#include "passes/memory/MemoryTimeline.h"

using namespace mlir;
using namespace tessera;

/// What runs at a moment: that of the last op which has begun.
static const MemoryMoment *runningAt(const MemoryTimeline &timeline, int number) {
  const MemoryMoment *running = nullptr;
  for (const MemoryMoment &moment : timeline.moments)
    if (moment.number <= number) running = &moment;
  return running;
}

PeakMemory tessera::peakMemory(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step) return {};
  MemoryTimeline timeline = memoryTimeline(step);
  PeakMemory peak;
  if (const MemoryMoment *running = runningAt(timeline, timeline.peak))
    peak.pass = stringifyStepPass(running->pass).str(), peak.running = running->name;
  BytesByKind live = timeline.liveAt(timeline.peak);
  for (unsigned kind = 0; kind < bufferKindCount; ++kind)
    if (live[kind] > 0) peak.kinds.emplace_back(stringifyBufferKind(static_cast<BufferKind>(kind)).str(), live[kind]);
  return peak;
}
