//===- MemoryNeeds.h - the memory that a program takes ----------------------------===//
//
// Everything that a run takes, from the manifest: `PROGRAM info` and `tessera plan` print the same figures.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H
#define TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H

#include "runtime/data/HeldData.h"
#include "runtime/program/Manifest.h"

namespace tessera::runtime {

/// A line of the list.
struct MemoryNeed {
  std::string name;
  int64_t bytes = 0;
  std::string note = {}; ///< may be empty
  bool isPart = false;   ///< of the line before it, which counts it already
  bool isKnown = true;   ///< else it counts as 0, and the note says why
};

/// The lines that one memory must hold at the same time.
struct MemoryNeeds {
  std::vector<MemoryNeed> lines;

  /// Bytes of all lines that are no parts.
  int64_t total() const;
  /// Whether all lines are known, so that the total is not too small.
  bool isComplete() const;
};

/// How far the arena is above its bound: "optimal", "0.3 % above its bound"; empty if the bound is not known.
std::string describeGap(const ArenaSpec &arena);

/// What recomputation takes, and what it needs at least: "8.2 % of a step; with this memory it needs 6.6 % at least";
/// empty if the memory is not limited.
std::string describeRecomputation(const ArenaSpec &arena);

/// The name of the arena's line.
inline constexpr const char *arenaNeed = "arena";

/// What a training run takes of the host's memory: anonymous pages, without the files that it maps.
MemoryNeeds hostMemory(const Manifest &manifest, const HeldData &data);

/// What it takes of a GPU's memory.
MemoryNeeds deviceMemory(const Manifest &manifest);

/// What the driver's context, loaded code and cuBLASLt take of a GPU's memory: as the device's description says, else
/// an estimate. A program that starts checks the free memory after these allocations.
int64_t contextBytes(const Manifest &manifest);

/// What a program takes of the memory that `--memory` limits: of a GPU, or of the host, without training data that it
/// holds in memory.
MemoryNeeds programNeeds(const Manifest &manifest);
/// The total of that, in bytes.
int64_t programBytes(const Manifest &manifest);

/// What a program would take in all if it were compiled with a plan of its frontier: at most about this.
struct PlanMemory {
  const MemoryPlan *plan = nullptr;
  int64_t bytes = 0;
};
/// The program's own plan, and those that take less than all faster ones. In small programs the process counts more
/// than what is recomputed.
std::vector<PlanMemory> plansByMemory(const Manifest &manifest);

/// Bytes as `--memory` takes them, rounded up: "4.63GiB".
std::string memoryAmount(int64_t bytes);
/// The same, rounded down.
std::string memoryWithin(int64_t bytes);

/// What to compile a program with if only `available` bytes are left for its arena, and, on a host, for the rest of it:
/// "compile with --memory=4.63GiB (a step takes about 3.1 % longer)", else with what it takes least.
std::string memoryAdvice(const Manifest &manifest, int64_t available);

/// What a training run takes of the disk: its checkpoints.
struct DiskNeeds {
  int64_t checkpointBytes = 0; ///< of one
  int64_t mostCheckpoints = 0; ///< at the same time, the one that is written included; 0: all that it saves
};
DiskNeeds checkpointNeeds(const Manifest &manifest);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H
