//===- Communicator.h - a group of ranks that moves bytes -----------------===//
//
// Ranks exchange bytes and never ask a library for a sum: generated kernels sum what an all-to-all brought, in an order
// that they fix. So all element types work alike, and the bits of a result do not depend on the library.
//
// All ranks of a group call the same collectives in the same order, with the same sizes. A rank that does not come is
// found by the watchdog (Watchdog.h), which is told of every collective; nothing here has a time limit.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_RANKS_COMMUNICATOR_H
#define TESSERA_RUNTIME_RANKS_COMMUNICATOR_H

#include "runtime/base/Error.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// Is told of each collective of this rank, by the thread that calls it. Called inside steps: must not allocate.
class CollectiveObserver {
public:
  virtual ~CollectiveObserver() = default;
  /// `work`: what a rank may compute in it before the exchange, which is not the network's time.
  virtual void begin(std::string_view name, std::chrono::milliseconds work) noexcept = 0;
  virtual void end() noexcept = 0;
};

/// What a rank did in a group.
struct Traffic {
  int64_t collectives = 0;
  /// Bytes that collectives brought from other ranks, whichever way a library takes to bring them.
  int64_t received = 0;
  /// Bytes that were handed to MPI or to a socket for other ranks, counted there. A block that a library sends to
  /// several ranks counts for each.
  int64_t sent = 0;
};

/// Instead of a rank that is sent to or received from: nothing is sent or received.
inline constexpr int noRank = -1;

/// This rank's view of a group of ranks that exchange bytes of host memory; used by one thread.
///
/// `what` names the collective, such as the name of a value, in errors and for the watchdog. Sizes are in bytes and may
/// exceed 2^31. Buffers must not overlap, but for an all-gather in place. Every function throws an Error that names the
/// collective, the rank and the group if the library refuses.
class HostCommunicator {
public:
  virtual ~HostCommunicator() = default;
  HostCommunicator(const HostCommunicator &) = delete;
  HostCommunicator &operator=(const HostCommunicator &) = delete;

  int rank() const { return ownRank; }
  int size() const { return rankCount; }
  /// Of the group: "world", or the name of a mesh axis.
  const std::string &name() const { return groupName; }
  const Traffic &traffic() const { return moved; }

  /// to [size, bytes] = block number rank() of from [size, bytes] of each rank, in order.
  void allToAll(std::string_view what, const void *from, void *to, size_t bytes);

  /// to [size, bytes] = from [bytes] of each rank, in order. In place: from = to + rank() * bytes.
  void allGather(std::string_view what, const void *from, void *to, size_t bytes);

  /// data [bytes] = data of rank `root`.
  void broadcast(std::string_view what, void *data, size_t bytes, int root);

  /// Sends from [fromBytes] to rank `toRank`, and meanwhile receives to [toBytes] from rank `fromRank`, which must send
  /// as many. Either rank may be this one, or `noRank`.
  void sendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank, void *to, size_t toBytes,
                   int fromRank);

  /// A collective of these ranks that another library moves: `body` begins and ends it, and may wait for the others.
  /// `work`: how long it may compute besides.
  void announce(std::string_view what, const std::function<void()> &body, std::chrono::milliseconds work = {});

  /// Returns when all ranks have called it.
  void barrier(std::string_view what);

  /// A collective: a new group `name` of the ranks that pass the same number `group` (at least 0), in the order of
  /// `order`. The new group has the observer of this one.
  std::unique_ptr<HostCommunicator> split(std::string name, int group, int order);

  /// Sets the observer of this group, of the group that it was split from, and of all others split from that; null:
  /// none.
  void setObserver(CollectiveObserver *observer) { observation->observer = observer; }

  /// A collective, of the first group only: the last call of any group. Without it the process ends as one that failed.
  void finish();

  /// Ends all ranks of the job at once with this status, without an exchange: for errors of one rank that the others
  /// cannot learn of otherwise.
  [[noreturn]] virtual void abandon(ExitStatus status) = 0;

protected:
  /// What a group shares with those that are split from it.
  struct Observation {
    CollectiveObserver *observer = nullptr;
  };

  HostCommunicator(std::string name, int rank, int size);

  /// The same functions for ranks and sizes that are in range.
  virtual void moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) = 0;
  virtual void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) = 0;
  virtual void moveBroadcast(std::string_view what, void *data, size_t bytes, int root) = 0;
  virtual void moveSendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank, void *to,
                               size_t toBytes, int fromRank) = 0;
  virtual void waitForAll(std::string_view what) = 0;
  virtual std::unique_ptr<HostCommunicator> makeGroup(std::string name, int group, int order) = 0;
  virtual void end() = 0;

  /// Counts bytes that go to other ranks: called where the transport takes them.
  void countSent(size_t bytes) { moved.sent += static_cast<int64_t>(bytes); }

  /// Whether there is an observer, such as a watchdog.
  bool isObserved() const { return observation->observer; }
  /// Where a collective failed: "allGather 'gradients' on rank 1 of 4 of 'data'".
  std::string place(const char *function, std::string_view what) const;

private:
  class Announced;
  void checkRank(const char *function, std::string_view what, int rank) const;

  std::string groupName;
  int ownRank, rankCount;
  Traffic moved;
  std::shared_ptr<Observation> observation = std::make_shared<Observation>();
};

/// The only rank of a run, or of a group: nothing is opened, and what it sends to itself is copied.
class OneRank final : public HostCommunicator {
public:
  explicit OneRank(std::string name = "world") : HostCommunicator(std::move(name), 0, 1) {}
  [[noreturn]] void abandon(ExitStatus status) override;

private:
  void moveAllToAll(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveAllGather(std::string_view what, const void *from, void *to, size_t bytes) override;
  void moveBroadcast(std::string_view, void *, size_t, int) override {}
  void moveSendReceive(std::string_view what, const void *from, size_t fromBytes, int toRank, void *to, size_t toBytes,
                       int fromRank) override;
  void waitForAll(std::string_view) override {}
  std::unique_ptr<HostCommunicator> makeGroup(std::string name, int group, int order) override;
  void end() override {}
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_RANKS_COMMUNICATOR_H
