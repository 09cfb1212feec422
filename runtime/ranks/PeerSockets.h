//===- PeerSockets.h - how ranks find and connect to each other -----------===//

#ifndef TESSERA_RUNTIME_RANKS_PEERSOCKETS_H
#define TESSERA_RUNTIME_RANKS_PEERSOCKETS_H

#include "runtime/ranks/Communicator.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

/// A rank as the others see it: sent as bytes.
struct PeerCard {
  char host[64];          ///< its name
  char network[96];       ///< the same for ranks that reach each other over the loopback device
  char addresses[12][48]; ///< in text; unused ones are empty
  int32_t process;
  int32_t port;
};

/// A connected rank.
struct PeerSocket {
  int socket = -1; ///< does not block
  PeerCard card = {};
};

/// A collective: a connection to each rank of the group; none to this rank. Throws an Error if one cannot be made
/// before `limit` is over.
std::vector<PeerSocket> connectToAll(HostCommunicator &world, std::chrono::milliseconds limit);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_PEERSOCKETS_H
