//===- Nccl.h - ranks that exchange numbers -----------------------------------===//
//
// A rank is a thread or process with a GPU of its own. Ranks that exchange numbers have a communicator each, made with
// one id, and call the same collectives in the same order, with the same counts, types and reductions. One rank is no
// special case: its collectives are copies.
//
// Collectives put work on a stream and return; nothing here waits for a stream. So a stream that records takes them
// into its graph, if those of all ranks record.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_NCCL_H
#define TESSERA_RUNTIME_CUDA_NCCL_H

#include "runtime/base/ElementType.h"
#include "runtime/cuda/Driver.h"

#include <string>
#include <string_view>

namespace tessera::runtime::cuda {

/// What the ranks of one communicator find each other by. One makes it; how the others get these bytes is the caller's.
struct UniqueId {
  char bytes[128];
};

/// The average of integers is rounded towards zero; other numbers are divided before they are added.
enum class Reduction { Sum, Max, Average };

/// This rank among those that exchange numbers; for one thread at a time.
///
/// `count` counts elements, never bytes. Memory is the device's, starts at a multiple of the element's size, and must
/// stay as it is until the stream has come past the collective. Where `from` and `to` overlap without being what a
/// function calls its place, the result is undefined. `name` says in errors what a collective is for: a parameter's
/// name, say.
///
/// Every function throws an Error where the library refuses: "allReduce 'embedding' on rank 1 of 4: NCCL: …", with all
/// that the library says. That ranks do not agree, or that one is gone, shows later: see `check`.
class Communicator {
public:
  /// An id for a new communicator. Throws an Error where the library cannot be opened: libnccl.so.2, in $TESSERA_NCCL
  /// if that is set.
  static UniqueId makeId();

  /// Rank `rank`, from 0 on, of `ranks`. Waits until all have come. The calling thread's current context is the rank's
  /// GPU, from now on and for all calls; no two ranks have the same.
  Communicator(int rank, int ranks, const UniqueId &id);

  /// Waits for what was called; after an error that `check` would report, stops it instead. Graphs that hold
  /// collectives of the communicator are destroyed before it: the library waits for that.
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return ownRank; }
  int ranks() const { return rankCount; }

  /// to [count] = the reduction over all ranks of from [count], the same to the bit on all of them.
  /// In place: to = from.
  void allReduce(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                 Reduction reduction, Stream stream);

  /// to [count] = block number rank() of the reduction over all ranks of from [ranks(), count].
  /// In place: to = from + rank() * count elements.
  void reduceScatter(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                     Reduction reduction, Stream stream);

  /// to [ranks(), count] = from [count] of each rank, in their order. In place: from = to + rank() * count elements.
  void allGather(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                 Stream stream);

  /// to [count] = from [count] of rank `root`; the other ranks' `from` is not looked at. In place: to = from.
  void broadcast(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type, int root,
                 Stream stream);

  /// Sends from [count] to rank `peer`, which receives as many of that type. The stream goes on when they are taken:
  /// what must go both ways at once (two ranks that swap, a ring, a rank that sends to itself) belongs into a Group.
  void send(std::string_view name, DevicePointer from, int64_t count, ElementType type, int peer, Stream stream);

  /// to [count] = what rank `peer` sends.
  void receive(std::string_view name, DevicePointer to, int64_t count, ElementType type, int peer, Stream stream);

  /// Throws an Error if something has gone wrong since the calls: another rank is gone, the network or the GPU failed.
  /// Never waits. After it, the communicator can only be destroyed, and its streams may never finish before it is.
  void check() const;

  class Group;

private:
  void require(int status, const char *function, std::string_view name) const;

  struct NcclComm *handle = nullptr;
  int ownRank, rankCount;
};

/// Collectives that the thread calls while a group lives start together, as one piece of work, when it ends: which is
/// faster for many small ones, and what sends and receives need that wait for each other. Groups nest; only the
/// outermost starts something.
class Communicator::Group {
public:
  /// `name` is for errors. `communicator` is one of those that the group's calls go to.
  Group(const Communicator &communicator, std::string_view name);

  /// Without `end` before it, an error is under way: the group is closed and what the library says is dropped. If the
  /// error was the library's, nothing is started; if not, what was called before it is, and may wait for ever.
  ~Group();
  Group(const Group &) = delete;
  Group &operator=(const Group &) = delete;

  /// Starts what was called. Throws an Error where the library refuses, as it does after a call in the group failed.
  void end();

private:
  const Communicator &communicator;
  std::string name;
  bool isOpen = false;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_NCCL_H
