//===- MemoryNeeds.h - the memory that a program takes ----------------------------===//
//
// Everything that a run takes, from the manifest: `PROGRAM info` and `tessera plan` print the same figures.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H
#define TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H

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

/// Bytes that readers of the data hold (runtime/data/HeldData.h), or why they are not known.
struct HeldData {
  std::optional<int64_t> bytes;
  std::string problem = {};
};

/// The lines that one memory must hold at the same time.
struct MemoryNeeds {
  std::vector<MemoryNeed> lines;

  /// Bytes of all lines that are no parts.
  int64_t total() const;
};

/// What a training run takes of the host's memory: anonymous pages, without the files that it maps.
MemoryNeeds hostMemory(const Manifest &manifest, const HeldData &data);

/// What it takes of a GPU's memory, of which the driver, its context and loaded code take `contextBytes`.
MemoryNeeds deviceMemory(const Manifest &manifest, int64_t contextBytes);

/// An estimate of what the driver's context, loaded code and cuBLASLt take of a GPU that is not described. A program
/// that starts checks the free memory after these allocations.
inline constexpr int64_t usualContextBytes = int64_t(640) << 20;

/// What a training run takes of the disk: its checkpoints.
struct DiskNeeds {
  int64_t checkpointBytes = 0; ///< of one
  int64_t mostCheckpoints = 0; ///< at the same time, the one that is written included; 0: all that it saves
};
DiskNeeds checkpointNeeds(const Manifest &manifest);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_MEMORYNEEDS_H
