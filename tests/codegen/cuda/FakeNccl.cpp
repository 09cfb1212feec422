//===- FakeNccl.cpp - NCCL for a machine without a GPU ----------------------===//
//
// A part of the library that FakeCuda.cpp describes: libnccl for ranks that are threads of one process. They find each
// other by their id. Each collective waits for all ranks, in the order of its stream, also in a graph. Sums are
// computed in f64 and rounded once.
//
// Errors that hang or corrupt memory with the real library are detected: mismatched calls, memory that is not the
// device's, a rank that has left or never arrives, a graph that outlives its communicator. FAKE_NCCL_FAIL names a
// function that fails.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/FakeDevice.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace tessera::test;

namespace {
// ncclResult_t
enum Status { success = 0, cudaError = 1, systemError = 2, invalidArgument = 4, invalidUsage = 5, remoteError = 6 };
// ncclDataType_t, ncclRedOp_t
enum Type { u8 = 1, i32 = 2, f16 = 6, f32 = 7, bf16 = 9 };
enum Operation { sum = 0, maximum = 2, average = 4 };

constexpr auto patience = std::chrono::seconds(20);

struct Id {
  char bytes[128];
};

std::mutex lastErrorMutex;
char lastError[1024];

/// Records an error for ncclGetLastError.
int failed(int status, const std::string &message) {
  std::lock_guard lock(lastErrorMutex);
  snprintf(lastError, sizeof lastError, "%s", message.c_str());
  return status;
}

bool isToldToFail(const std::string &function) {
  const char *name = getenv("FAKE_NCCL_FAIL");
  return name && function == name && failed(systemError, function + " fails, as FAKE_NCCL_FAIL asks");
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// 0 for an unknown type.
size_t bytesOf(int type) { return type == f32 || type == i32 ? 4 : type == bf16 || type == f16 ? 2 : type == u8; }

const char *nameOf(int type) {
  return type == f32 ? "f32" : type == bf16 ? "bf16" : type == f16 ? "f16" : type == i32 ? "i32" : "u8";
}

double read(const char *from, int type, size_t i) {
  switch (type) {
  case f32:
    return reinterpret_cast<const float *>(from)[i];
  case bf16:
    return fromBf16(reinterpret_cast<const unsigned short *>(from)[i]);
  case f16:
    return static_cast<double>(reinterpret_cast<const _Float16 *>(from)[i]);
  case i32:
    return reinterpret_cast<const int32_t *>(from)[i];
  default:
    return reinterpret_cast<const unsigned char *>(from)[i];
  }
}

void write(char *to, int type, size_t i, double value) {
  switch (type) {
  case f32:
    reinterpret_cast<float *>(to)[i] = static_cast<float>(value);
    return;
  case bf16:
    reinterpret_cast<unsigned short *>(to)[i] = toBf16(static_cast<float>(value));
    return;
  case f16:
    reinterpret_cast<_Float16 *>(to)[i] = static_cast<_Float16>(value);
    return;
  case i32:
    reinterpret_cast<int32_t *>(to)[i] = static_cast<int32_t>(static_cast<int64_t>(value));
    return;
  default:
    reinterpret_cast<unsigned char *>(to)[i] = static_cast<unsigned char>(static_cast<int64_t>(value));
  }
}

//===----------------------------------------------------------------------===//
// Rendezvous
//===----------------------------------------------------------------------===//

/// The call of a rank.
struct Call {
  std::string function;
  const char *from = nullptr;
  char *to = nullptr;
  size_t count = 0;
  int type = f32, operation = -1, peer = -1; ///< a root is a peer

  bool isMessage() const { return function == "ncclSend" || function == "ncclRecv"; }
  bool agreesWith(const Call &other) const {
    if (count != other.count || type != other.type || operation != other.operation) return false;
    return isMessage() ? other.isMessage() : function == other.function && peer == other.peer;
  }
  std::string text() const {
    std::string text = function + " of " + std::to_string(count) + " " + nameOf(type);
    if (operation >= 0) text += operation == sum ? ", sum" : operation == maximum ? ", max" : ", average";
    if (peer >= 0) text += (function == "ncclSend" ? " to rank " : " from rank ") + std::to_string(peer);
    return text;
  }
};

/// Ranks that wait for each other, with the call of each: all ranks in their order, or a sender and a receiver, which
/// may be the same rank.
struct Rendezvous {
  std::vector<int> ranks;
  std::vector<std::optional<Call>> calls;
  bool isOver = false;

  bool isComplete() const {
    return std::all_of(calls.begin(), calls.end(), [](auto &call) { return call.has_value(); });
  }
};

/// All communicators of one id.
struct World {
  int ranks = 0, arrived = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, std::shared_ptr<Rendezvous>> openRendezvous;
  std::vector<bool> hasLeft;
  int failure = success; ///< the first one; all ranks see it

  /// A rank that has left before its call; -1: none. The mutex must be held.
  int lostRank(const Rendezvous &rendezvous) const {
    for (size_t seat = 0; seat < rendezvous.ranks.size(); ++seat)
      if (hasLeft[rendezvous.ranks[seat]] && !rendezvous.calls[seat]) return rendezvous.ranks[seat];
    return -1;
  }
};

struct Communicator {
  std::shared_ptr<World> world;
  int rank;
  std::map<std::string, int> counts; ///< of calls so far, by kind
};
using CommunicatorPointer = std::shared_ptr<Communicator>;

std::mutex worldsMutex;
std::map<std::string, std::shared_ptr<World>> worlds;

/// Element i of the reduction over all ranks.
double reduced(const std::vector<std::optional<Call>> &calls, size_t i) {
  const Call &first = *calls[0];
  double result = read(first.from, first.type, i);
  for (size_t rank = 1; rank < calls.size(); ++rank) {
    double value = read(calls[rank]->from, first.type, i);
    result = first.operation == maximum ? std::max(result, value) : result + value;
  }
  return first.operation == average ? result / static_cast<double>(calls.size()) : result;
}

/// The result of all ranks; each gets a block of that of ncclReduceScatter.
std::vector<char> resultOf(const std::vector<std::optional<Call>> &calls) {
  const Call &first = *calls[0];
  size_t size = bytesOf(first.type);
  std::vector<char> result;
  auto append = [&](const Call &call) { result.insert(result.end(), call.from, call.from + call.count * size); };
  if (first.function == "ncclAllGather") {
    for (auto &call : calls) append(*call);
  } else if (first.function == "ncclBroadcast") {
    append(*calls[first.peer]);
  } else if (first.isMessage()) {
    append(first);
  } else {
    size_t count = first.count * (first.function == "ncclReduceScatter" ? calls.size() : 1);
    result.resize(count * size);
    for (size_t i = 0; i < count; ++i) write(result.data(), first.type, i, reduced(calls, i));
  }
  return result;
}

/// Executes the calls, when all ranks have arrived.
int execute(const Rendezvous &rendezvous) {
  const Call &first = *rendezvous.calls[0];
  for (size_t seat = 1; seat < rendezvous.calls.size(); ++seat)
    if (!rendezvous.calls[seat]->agreesWith(first))
      return failed(invalidUsage, "rank " + std::to_string(rendezvous.ranks[0]) + " calls " + first.text() + ", rank " +
                                      std::to_string(rendezvous.ranks[seat]) + " " + rendezvous.calls[seat]->text());
  std::vector<char> result = resultOf(rendezvous.calls);
  bool isScattered = first.function == "ncclReduceScatter";
  size_t block = result.size() / (isScattered ? rendezvous.calls.size() : 1);
  for (size_t seat = 0; seat < rendezvous.calls.size(); ++seat)
    if (char *to = rendezvous.calls[seat]->to) std::copy_n(result.data() + (isScattered ? seat * block : 0), block, to);
  return success;
}

/// A call in a stream. A graph may run it many times.
struct Pending {
  CommunicatorPointer communicator;
  Call call;
  std::shared_ptr<Rendezvous> rendezvous;

  int post();
  int wait();
};

/// Joins the rendezvous. The last rank executes the calls.
int Pending::post() {
  World &world = *communicator->world;
  std::lock_guard lock(world.mutex);
  if (world.failure) return launchFailed;
  int rank = communicator->rank, seat = rank;
  std::vector<int> ranks(world.ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::string kind;
  if (call.isMessage()) {
    seat = call.function == "ncclSend" ? 0 : 1;
    ranks = seat == 0 ? std::vector{rank, call.peer} : std::vector{call.peer, rank};
    kind = std::to_string(ranks[0]) + " to " + std::to_string(ranks[1]);
  }
  // The send and the receive of a rank to itself have separate counts.
  int number = communicator->counts[(call.isMessage() ? call.function : "") + kind]++;
  std::string name = kind + ", number " + std::to_string(number);
  std::shared_ptr<Rendezvous> &place = world.openRendezvous[name];
  if (!place) place = std::make_shared<Rendezvous>(Rendezvous{ranks, {ranks.size(), std::nullopt}});
  rendezvous = place;
  rendezvous->calls[seat] = call;
  if (rendezvous->isComplete()) {
    world.failure = execute(*rendezvous);
    rendezvous->isOver = true;
    world.openRendezvous.erase(name);
    world.changed.notify_all();
  }
  return world.failure ? launchFailed : 0;
}

int Pending::wait() {
  World &world = *communicator->world;
  std::unique_lock lock(world.mutex);
  bool isInTime = world.changed.wait_for(
      lock, patience, [&] { return rendezvous->isOver || world.failure || world.lostRank(*rendezvous) >= 0; });
  if (world.failure) return launchFailed;
  if (rendezvous->isOver) return 0;
  std::string what = "rank " + std::to_string(communicator->rank) + " waits without end in " + call.text();
  if (isInTime) what = "rank " + std::to_string(world.lostRank(*rendezvous)) + " has left; " + what;
  world.failure = failed(remoteError, what);
  world.changed.notify_all();
  return launchFailed;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Calls of a thread that start together.
struct Group {
  int depth = 0, failure = success;
  std::vector<std::pair<void *, std::shared_ptr<Pending>>> calls; ///< with their streams
};
thread_local Group group;

/// All calls join before one waits.
int start(const std::vector<std::pair<void *, std::shared_ptr<Pending>>> &calls) {
  int failure = success;
  auto run = [&](int (Pending::*step)()) {
    for (auto &[stream, pending] : calls)
      // Runs now: the other ranks do not wait for this stream.
      if ((enqueue(stream, [pending = pending, step] { return ((*pending).*step)(); }) || runNow(stream)) && !failure) {
        World &world = *pending->communicator->world;
        std::lock_guard lock(world.mutex);
        failure = world.failure ? world.failure : failed(cudaError, "the stream has failed before");
      }
  };
  run(&Pending::post);
  run(&Pending::wait);
  return failure;
}

bool isMemory(const void *memory, size_t bytes, int type) {
  auto address = reinterpret_cast<uintptr_t>(memory);
  return address % bytesOf(type) == 0 && (bytes == 0 || isOnDevice(address, bytes));
}

/// An error in a call, apart from the other ranks; empty if there is none.
std::string faultOf(const Communicator &communicator, const Call &call) {
  if (bytesOf(call.type) == 0) return "type " + std::to_string(call.type);
  if (call.operation != -1 && call.operation != sum && call.operation != maximum && call.operation != average)
    return "reduction " + std::to_string(call.operation);
  bool hasPeer = call.isMessage() || call.function == "ncclBroadcast";
  if (hasPeer && (call.peer < 0 || call.peer >= communicator.world->ranks))
    return "no rank " + std::to_string(call.peer);
  size_t bytes = call.count * bytesOf(call.type), all = bytes * communicator.world->ranks;
  bool reads = call.function != "ncclRecv" && (call.function != "ncclBroadcast" || call.peer == communicator.rank);
  if (reads && !isMemory(call.from, call.function == "ncclReduceScatter" ? all : bytes, call.type))
    return "what it reads is not the device's memory";
  if (call.function != "ncclSend" && !isMemory(call.to, call.function == "ncclAllGather" ? all : bytes, call.type))
    return "what it writes is not the device's memory";
  return "";
}

int begin(void *handle, const Call &call, void *stream) {
  auto &communicator = *static_cast<CommunicatorPointer *>(handle);
  int status = success;
  if (isToldToFail(call.function))
    status = systemError;
  else if (std::string fault = faultOf(*communicator, call); !fault.empty())
    status = failed(invalidArgument, call.text() + ": " + fault);
  if (group.depth > 0 && status) group.failure = status;
  if (status) return status;
  auto pending = std::make_shared<Pending>(Pending{communicator, call, nullptr});
  if (group.depth == 0) return start({{stream, pending}});
  group.calls.emplace_back(stream, pending);
  return success;
}

/// The rank leaves. Ranks that wait for it get an error.
int leave(void *handle, bool aborts) {
  std::unique_ptr<CommunicatorPointer> communicator(static_cast<CommunicatorPointer *>(handle));
  World &world = *(*communicator)->world;
  std::lock_guard lock(world.mutex);
  world.hasLeft[(*communicator)->rank] = true;
  world.changed.notify_all();
  if (communicator->use_count() > 1)
    return failed(invalidUsage, "a graph contains collectives of the communicator: the library would hang");
  if (world.failure && !aborts) return failed(invalidUsage, "destroyed after an error: the library may hang");
  return success;
}
} // namespace

EXPORT const char *ncclGetErrorString(int status) {
  switch (status) {
  case success:
    return "no error";
  case cudaError:
    return "unhandled cuda error";
  case systemError:
    return "unhandled system error";
  case invalidArgument:
    return "invalid argument";
  case invalidUsage:
    return "invalid usage";
  case remoteError:
    return "remote process exited or there was a network error";
  default:
    return "unknown result code";
  }
}
EXPORT const char *ncclGetLastError(void *) {
  thread_local std::string text;
  std::lock_guard lock(lastErrorMutex);
  return (text = lastError).c_str();
}

EXPORT int ncclGetUniqueId(Id *id) {
  static std::atomic<int> made = 0;
  if (isToldToFail("ncclGetUniqueId")) return systemError;
  *id = {};
  snprintf(id->bytes, sizeof id->bytes, "fake NCCL, number %d", ++made);
  return success;
}
EXPORT int ncclCommInitRank(void **handle, int ranks, Id id, int rank) {
  if (isToldToFail("ncclCommInitRank")) return systemError;
  if (rank < 0 || rank >= ranks) return failed(invalidArgument, "no rank " + std::to_string(rank));
  std::shared_ptr<World> world;
  {
    std::lock_guard lock(worldsMutex);
    std::shared_ptr<World> &place = worlds[std::string(id.bytes, sizeof id.bytes)];
    if (!place) place = std::make_shared<World>();
    world = place;
  }
  std::unique_lock lock(world->mutex);
  if (world->ranks == 0) world->ranks = ranks, world->hasLeft.resize(ranks);
  if (world->ranks != ranks || world->arrived == ranks)
    return failed(invalidUsage, "the id is for " + std::to_string(world->ranks) + " ranks");
  ++world->arrived;
  world->changed.notify_all();
  if (!world->changed.wait_for(lock, patience, [&] { return world->arrived == ranks; }))
    return failed(remoteError, "only " + std::to_string(world->arrived) + " ranks have arrived");
  *handle = new CommunicatorPointer(new Communicator{world, rank, {}});
  return success;
}
EXPORT int ncclCommDestroy(void *handle) { return leave(handle, false); }
EXPORT int ncclCommAbort(void *handle) { return leave(handle, true); }
EXPORT int ncclCommGetAsyncError(void *handle, int *status) {
  if (isToldToFail("ncclCommGetAsyncError")) return systemError;
  World &world = *(*static_cast<CommunicatorPointer *>(handle))->world;
  std::lock_guard lock(world.mutex);
  *status = world.failure;
  return success;
}

EXPORT int ncclAllReduce(const char *from, char *to, size_t count, int type, int operation, void *handle,
                         void *stream) {
  return begin(handle, {"ncclAllReduce", from, to, count, type, operation}, stream);
}
EXPORT int ncclReduceScatter(const char *from, char *to, size_t count, int type, int operation, void *handle,
                             void *stream) {
  return begin(handle, {"ncclReduceScatter", from, to, count, type, operation}, stream);
}
EXPORT int ncclAllGather(const char *from, char *to, size_t count, int type, void *handle, void *stream) {
  return begin(handle, {"ncclAllGather", from, to, count, type}, stream);
}
EXPORT int ncclBroadcast(const char *from, char *to, size_t count, int type, int root, void *handle, void *stream) {
  return begin(handle, {"ncclBroadcast", from, to, count, type, -1, root}, stream);
}
EXPORT int ncclSend(const char *from, size_t count, int type, int peer, void *handle, void *stream) {
  return begin(handle, {"ncclSend", from, nullptr, count, type, -1, peer}, stream);
}
EXPORT int ncclRecv(char *to, size_t count, int type, int peer, void *handle, void *stream) {
  return begin(handle, {"ncclRecv", nullptr, to, count, type, -1, peer}, stream);
}

EXPORT int ncclGroupStart() {
  if (isToldToFail("ncclGroupStart")) return systemError;
  return ++group.depth, success;
}
EXPORT int ncclGroupEnd() {
  if (group.depth == 0) return failed(invalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return success;
  Group ended = std::move(group);
  group = Group();
  if (ended.failure) return ended.failure;
  return isToldToFail("ncclGroupEnd") ? systemError : start(ended.calls);
}
