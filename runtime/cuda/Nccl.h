//===- Nccl.h - collectives over NCCL -------------------------------------===//
//
// A rank is a thread or process with a GPU of its own. Each rank has a communicator, made with a common id. All ranks
// call the same collectives in the same order, with the same counts, types and reductions. With one rank collectives
// are copies.
//
// Collectives enqueue work on a stream and return; nothing here waits for a stream. A stream that is being captured
// takes them into its graph, if those of all ranks are captured.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CUDA_NCCL_H
#define TESSERA_RUNTIME_CUDA_NCCL_H

#include "runtime/base/ElementType.h"
#include "runtime/cuda/Driver.h"

#include <string>
#include <string_view>

namespace tessera::runtime::cuda {

/// The id that the ranks of a communicator share. One rank makes it; the caller distributes it.
struct UniqueId {
  char bytes[128];
};

/// The average of integers is rounded towards zero; floats are divided before they are added.
enum class ReductionKind { Sum, Max, Average };

/// One rank of a group that communicates; used by one thread at a time.
///
/// `count` is in elements. Memory is the device's, aligned to the element size, and must not change until the stream
/// has passed the collective. If `from` and `to` overlap other than in place, the result is undefined. `name`
/// identifies the collective in errors, such as the name of a parameter.
///
/// Every function throws an Error if NCCL refuses: "allReduce 'embedding' on rank 1 of 4: NCCL: …", with NCCL's
/// message. A mismatch between ranks, or a lost rank, shows later: see `check`.
class Communicator {
public:
  /// An id for a new communicator. Throws an Error if the library cannot be opened: libnccl.so.2, in $TESSERA_NCCL if
  /// that is set.
  static UniqueId makeId();

  /// Rank `rank` (from 0) of `ranks`. Waits for all of them. The calling thread's current context becomes the rank's
  /// GPU for all calls; no two ranks share one.
  Communicator(int rank, int ranks, const UniqueId &id);

  /// Waits for pending work; aborts it after an error that `check` would report. Graphs that contain collectives of
  /// the communicator must be destroyed first: NCCL waits for that.
  ~Communicator();
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  int rank() const { return ownRank; }
  int ranks() const { return rankCount; }
  /// Bytes of sends, all-gathers and reduce-scatters that NCCL was given for other ranks. Those that a graph contains
  /// count once, when they are recorded.
  int64_t sent() const { return handedOver; }

  /// to [count] = the reduction over all ranks of from [count], bit-identical on all of them. In place: to = from.
  void allReduce(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                 ReductionKind reduction, Stream stream);

  /// to [count] = block number rank() of the reduction over all ranks of from [ranks(), count]. In place: to = from +
  /// rank() * count elements.
  void reduceScatter(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                     ReductionKind reduction, Stream stream);

  /// to [ranks(), count] = from [count] of each rank, in order. In place: from = to + rank() * count elements.
  void allGather(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type,
                 Stream stream);

  /// to [count] = from [count] of rank `root`; `from` of other ranks is ignored. In place: to = from.
  void broadcast(std::string_view name, DevicePointer from, DevicePointer to, int64_t count, ElementType type, int root,
                 Stream stream);

  /// Sends from [count] to rank `peer`, which receives as many elements of that type. The stream continues when they
  /// are received: exchanges in both directions (a swap, a ring, a rank that sends to itself) need a Group.
  void send(std::string_view name, DevicePointer from, int64_t count, ElementType type, int peer, Stream stream);

  /// Receives to [count] from rank `peer`.
  void receive(std::string_view name, DevicePointer to, int64_t count, ElementType type, int peer, Stream stream);

  /// Throws an Error if a call has failed since: another rank is lost, the network or the GPU failed. Never waits.
  /// After that the communicator can only be destroyed, and its streams may never finish before it is.
  void check() const;

  class Group;

private:
  void require(int status, const char *function, std::string_view name) const;

  struct NcclComm *handle = nullptr;
  int ownRank, rankCount;
  int64_t handedOver = 0;
};

/// Collectives that the thread calls during the lifetime of a group start together when it ends. That is faster for
/// many small ones, and needed for sends and receives that wait for each other. Groups nest; only the outermost one
/// starts the work.
class Communicator::Group {
public:
  /// `name` is for errors. `communicator` is one of those that the group uses.
  Group(const Communicator &communicator, std::string_view name);

  /// Without end() an exception is in flight: closes the group and ignores NCCL's errors. If NCCL raised the
  /// exception, nothing is started; otherwise the calls before it are started and may wait forever.
  ~Group();
  Group(const Group &) = delete;
  Group &operator=(const Group &) = delete;

  /// Starts the calls of the group. Throws an Error if NCCL refuses, or if a call in the group failed.
  void end();

private:
  const Communicator &communicator;
  std::string name;
  bool isOpen = false;
};

} // namespace tessera::runtime::cuda

#endif // TESSERA_RUNTIME_CUDA_NCCL_H
