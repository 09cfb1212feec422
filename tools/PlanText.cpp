//===- PlanText.cpp - the memory plan as text -----------------------------===//

#include "tools/PlanText.h"
#include "passes/memory/MemoryTimeline.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

/// What runs at a moment: that of the last op which has begun.
static const MemoryMoment *runningAt(const MemoryTimeline &timeline, int number) {
  const MemoryMoment *running = nullptr;
  for (const MemoryMoment &moment : timeline.moments)
    if (moment.number <= number) running = &moment;
  return running;
}

std::string tessera::memoryByKindText(ModuleOp module) {
  constexpr double mib = 1 << 20;
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step) return "";
  MemoryTimeline timeline = memoryTimeline(step);
  std::string text = "peak of step";
  if (const MemoryMoment *running = runningAt(timeline, timeline.peak))
    text += llvm::formatv(": {0}, {1}", stringifyStepPass(running->pass), running->name).str();
  text += "\n";
  BytesByKind live = timeline.liveAt(timeline.peak);
  for (unsigned kind = 0; kind < bufferKindCount; ++kind)
    if (live[kind] > 0)
      text +=
          llvm::formatv("  {0,10:f1} MiB  {1}\n", live[kind] / mib, stringifyBufferKind(static_cast<BufferKind>(kind)))
              .str();
  return text;
}
