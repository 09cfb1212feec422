//===- PeerSockets.h - how ranks find and connect to each other -----------===//

#ifndef TESSERA_RUNTIME_RANKS_PEERSOCKETS_H
#define TESSERA_RUNTIME_RANKS_PEERSOCKETS_H

#include "runtime/ranks/Communicator.h"
#include "runtime/ranks/Sockets.h"

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

/// What only the ranks of a run know.
struct PeerSecret {
  char bytes[16];
  /// A random one.
  static PeerSecret make();
};

/// Listens on a free port for the ranks after this one.
class PeerListener {
public:
  /// For a group of `ranks`. Throws an Error if this host has no free port.
  explicit PeerListener(int ranks);
  /// Of this rank.
  const PeerCard &card() const { return own; }

  /// A connection to each rank of the group; none to this rank, which is number `rank`. All ranks call it, with the
  /// same cards and the same secret. Throws an Error if one cannot be made before `limit` is over.
  std::vector<PeerSocket> connectToAll(int rank, const PeerSecret &secret, const std::vector<PeerCard> &cards,
                                       std::chrono::milliseconds limit);

private:
  OwnedSocket listener;
  PeerCard own;
};

/// A collective: the same for ranks that are connected in another way.
std::vector<PeerSocket> connectToAll(HostCommunicator &world, std::chrono::milliseconds limit);

/// Of the machine and network namespace of this process; the same for ranks that reach each other over the loopback
/// device.
std::string networkName();

/// Whether two ranks reach each other over the loopback device.
bool areOnOneHost(const PeerCard &rank, const PeerCard &other);

/// Puts an address before all others of a card, where the others look first.
void preferAddress(PeerCard &card, const std::string &address);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_PEERSOCKETS_H
