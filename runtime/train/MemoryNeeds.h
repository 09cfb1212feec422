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

/// What a training run takes of the host's memory: anonymous pages, without the files that it maps.
MemoryNeeds hostMemory(const Manifest &manifest, const HeldData &data);

/// What it takes of a GPU's memory.
MemoryNeeds deviceMemory(const Manifest &manifest);

/// What the driver's context, loaded code and cuBLASLt take of a GPU's memory: as the device's description says, else
/// an estimate. A program that starts checks the free memory after these allocations.
int64_t contextBytes(const Manifest &manifest);

/// What a training run takes of the disk: its checkpoints.
struct DiskNeeds {
  int64_t checkpointBytes = 0; ///< of one
  int64_t mostCheckpoints = 0; ///< at the same time, the one that is written included; 0: all that it saves
};
DiskNeeds checkpointNeeds(const Manifest &manifest);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H
