//===- Comparison.h - what must be equal on all ranks ---------------------===//

#ifndef TESSERA_RUNTIME_RANKS_COMPARISON_H
#define TESSERA_RUNTIME_RANKS_COMPARISON_H

#include "runtime/ranks/Communicator.h"

#include <vector>

namespace tessera::runtime {

/// Something that all ranks must have alike.
struct ComparedItem {
  std::string name;    ///< "the option --steps"; the same on all ranks
  std::string content; ///< only its hash is exchanged
};

/// A collective: throws a RankError with status 2 on all ranks if an item of a rank is not that of rank 0. It names the
/// first such rank and its first such item: "rank 2: the option --steps is not the same as on rank 0; ADVICE". All
/// ranks pass the same items in the same order. On one rank nothing is computed.
void requireEqual(HostCommunicator &world, const std::vector<ComparedItem> &items, const char *advice);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_COMPARISON_H
