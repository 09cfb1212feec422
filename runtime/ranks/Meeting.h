//===- Meeting.h - how ranks meet that nothing connects yet ---------------===//
//
// Rank 0 waits at a port that all know. Each other rank tells it who it is and where it listens; when all have come,
// rank 0 tells all of them where all listen, and a secret of this run. Strangers and ranks of another run are sent
// away, and the start goes on without them.
//
// Nothing is encrypted: who reads the network learns the secret.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_MEETING_H
#define TESSERA_RUNTIME_RANKS_MEETING_H

#include "runtime/ranks/PeerSockets.h"
#include "runtime/ranks/RankLaunch.h"

namespace tessera::runtime {

/// What all ranks know afterwards. A card's first address is one at which the rank was seen.
struct RankDirectory {
  PeerSecret secret = {};
  std::vector<PeerCard> cards;
};

/// Called by all ranks, with what others need to reach this one. Throws an Error with status 2 on all ranks that have
/// come if some do not come in time, two of them have the same number, or they count the ranks in different ways; also
/// if the port is taken, or if this rank does not find rank 0.
RankDirectory meetRanks(const RankLaunch &launch, const PeerCard &own);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_MEETING_H
