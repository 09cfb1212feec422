//===- FakeNcclCalls.h - calls of the fake NCCL, and how ranks match them ---===//

#ifndef TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLCALLS_H
#define TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLCALLS_H

#include "tests/codegen/cuda/FakeNcclLinks.h"

#include <map>

namespace tessera::test::nccl {

// ncclResult_t
enum Status { success = 0, cudaError = 1, systemError = 2, invalidArgument = 4, invalidUsage = 5, remoteError = 6 };
// ncclDataType_t, ncclRedOp_t
enum Type { u8 = 1, i32 = 2, f16 = 6, f32 = 7, bf16 = 9 };
enum Operation { sum = 0, maximum = 2, average = 4 };

/// Records an error for ncclGetLastError. Returns `status`.
int failed(int status, const std::string &message);
/// The last error of the process, or "".
std::string lastError();

/// 0 for an unknown type.
size_t bytesOf(int type);

enum Function : int32_t { allReduce, reduceScatter, allGather, broadcast, sending, receiving };
const char *nameOf(Function function);

/// What ranks tell each other of a call.
struct Call {
  Function function = allReduce;
  int32_t type = f32, operation = -1, peer = -1; ///< a root is a peer
  uint64_t count = 0;

  bool isMessage() const { return function == sending || function == receiving; }
  size_t bytes() const { return count * bytesOf(type); }
  bool agreesWith(const Call &other) const;
  std::string text() const;
};

/// The communicator of a rank.
struct Communicator {
  using Message = RankLinks::Message;
  /// Calls that are counted apart.
  enum class Kind { Collective, Send, Receive };

  Communicator(const std::string &id, const RankCard &own) : links(id, own) {}

  /// Bytes of this rank's memory that the call reads and writes.
  size_t bytesRead(const Call &call) const;
  size_t bytesWritten(const Call &call) const;

  // The mutex of the links must be held.

  /// Takes what has arrived.
  void sort();
  /// Delivers a call to the ranks that take part. Returns its number among those of its kind.
  uint64_t post(const Call &call, const RankLinks::SharedMessage &message);
  /// Call `number` of a rank, with its operand, if it has arrived.
  const Message *arrivedCall(int rank, Kind kind, uint64_t number) const;
  void forget(int rank, Kind kind, uint64_t number) { inboxes[{rank, kind}].calls.erase(number); }
  /// Fails all ranks, unless there is a failure.
  void fail(int status, const std::string &text);

  RankLinks links;
  int failure = success; ///< the first one; all ranks see it

private:
  struct Inbox {
    uint64_t arrived = 0;
    std::map<uint64_t, Message> calls; ///< by number, those that are not over
  };
  void deliver(int rank, const RankLinks::SharedMessage &message);
  void receive(int rank, Message message);

  std::map<std::pair<int, Kind>, uint64_t> made; ///< calls of this rank, by peer; -1: all ranks
  std::map<std::pair<int, Kind>, Inbox> inboxes; ///< by rank
};

/// A call in a stream. A graph may run it many times.
struct Pending {
  Pending(std::shared_ptr<Communicator> communicator, const Call &call, const char *from, char *to)
      : communicator(std::move(communicator)), call(call), from(from), to(to) {}

  /// Sends the call and its operand to the ranks that take part. Returns the status of the work in the stream.
  int post();
  /// Waits for their calls, and writes the result.
  int wait();

  const std::shared_ptr<Communicator> communicator;
  const Call call;
  const char *const from;
  char *const to;

private:
  /// A rank whose call this one waits for, or this rank itself.
  struct Seat {
    int rank;
    bool isOwn;
    const RankLinks::Message *call; ///< null: it has not arrived
  };
  std::vector<Seat> seats() const;
  bool isOver(const std::vector<Seat> &seats) const;
  std::string waitingText(const std::vector<Seat> &seats) const;
  int finish(const std::vector<Seat> &seats);
  void writeResult(const std::vector<const char *> &operands) const;

  uint64_t number = 0;
  RankLinks::SharedMessage own;
};

} // namespace tessera::test::nccl

#endif // TESSERA_TESTS_CODEGEN_CUDA_FAKENCCLCALLS_H
