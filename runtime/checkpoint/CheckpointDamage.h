//===- CheckpointDamage.h - errors and damage, alike on all ranks ---------===//
//
// Damage of a checkpoint is not an error like others: an older checkpoint is loaded instead. If ranks disagreed, they
// would load different ones.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTDAMAGE_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTDAMAGE_H

#include "runtime/base/DurableFile.h"
#include "runtime/ranks/Communicator.h"

#include <functional>
#include <string>

namespace tessera::runtime {

/// A checkpoint is damaged; an older one may be intact.
class CheckpointDamaged : public Error {
public:
  using Error::Error;
};

/// A collective: runs `body` on each rank, and throws on all ranks if it throws on one: a CheckpointDamaged if it found
/// damage, else a RankError. An error comes before damage. `body` must not call collectives. On one rank, what `body`
/// throws is as it is.
void onAllRanks(HostCommunicator &world, std::string_view what, const std::function<void()> &body);

/// The same for work of the first rank alone: the others wait for it.
void onFirstRank(HostCommunicator &world, std::string_view what, const std::function<void()> &body);

/// The chunks that a rank verifies or hashes, of files that all ranks have before them: every n-th.
class ChunkShare {
public:
  /// All chunks.
  ChunkShare() = default;
  explicit ChunkShare(const HostCommunicator &world) : rank(world.rank()), ranks(world.size()) {}

  /// Whether the next chunk is one of them. Called once for each chunk, in one order on all ranks.
  bool takesNext() { return next++ % ranks == rank; }

private:
  int64_t rank = 0, ranks = 1, next = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTDAMAGE_H
