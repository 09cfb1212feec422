//===- Peers.h - connections between the watchdogs of all ranks -----------===//
//
// Neither MPI nor NCCL says which rank does not answer. So each rank has a TCP connection to each other one, on which
// only watchdogs speak: the system closes it when a process dies, and a stopped process does not answer.
//
// The addresses come over the communicator, with a secret that only the ranks of this run know. Ports are any that are
// free; nothing listens once all are connected.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_PEERS_H
#define TESSERA_RUNTIME_RANKS_PEERS_H

#include "runtime/ranks/Communicator.h"

#include <array>
#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <vector>

namespace tessera::runtime {

/// What watchdogs tell each other. All ranks run one program, so these bytes mean the same to all.
struct PeerMessage {
  enum Kind : int32_t {
    Question, ///< where is this rank?
    Answer,   ///< the rest of the message says where the sender is
    Farewell, ///< the sender ends in order
    Verdict   ///< the job ends: with `status`, for the reason in `text`
  };
  Kind kind = Question;
  int32_t status = 0;
  int64_t collective = 0;   ///< the number of collectives that the sender began
  int32_t isInside = 0;     ///< whether the last one is not over
  int32_t milliseconds = 0; ///< since it began, or since it was over
  int32_t allowance = 0;    ///< milliseconds for which the sender said that it is busy with other work
  char text[484] = "";      ///< the name of the last collective; the reason; ends with a zero

  void setText(std::string_view from);
};
static_assert(sizeof(PeerMessage) == 512);

/// The other ranks of a group. Used by one thread at a time.
class Peers {
public:
  /// A collective: connects this rank with all others. Throws an Error that names the rank and its addresses if that
  /// takes longer than `limit`.
  Peers(HostCommunicator &world, std::chrono::milliseconds limit);
  ~Peers();
  Peers(const Peers &) = delete;

  int ownRank() const { return rank; }
  int size() const { return static_cast<int>(peers.size()); }
  /// "rank 2 of 4 (process 4711 on node7)".
  std::string describe(int rank) const;

  /// Whether the connection to another rank still exists.
  bool isOpen(int rank) const { return peers[rank].socket >= 0; }

  /// Sends without waiting. A peer that takes nothing more because it is stopped misses the message.
  void send(int rank, const PeerMessage &message);
  void sendToAll(const PeerMessage &message);

  /// Waits up to `limit` for something to come, and passes on all messages that have come. Connections that others
  /// closed are not open afterwards.
  void receive(std::chrono::milliseconds limit, const std::function<void(int rank, const PeerMessage &)> &take);

private:
  struct Peer {
    int socket = -1;
    int32_t process = 0;
    std::string host;
    std::array<char, sizeof(PeerMessage)> partial; ///< of a message that has not come whole
    size_t have = 0;
  };
  void read(int rank, const std::function<void(int rank, const PeerMessage &)> &take);
  void close(int rank);

  int rank;
  std::vector<Peer> peers; ///< of all ranks; this rank's own is never open
  std::vector<pollfd> waiting;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_PEERS_H
