//===- FakeNccl.cpp - NCCL for a machine without a GPU ----------------------===//
//
// A part of the library that FakeCuda.cpp describes: libnccl for ranks that are threads or processes of one host
// (FakeNcclLinks.h). Each rank sends its call with its operand to the ranks that take part, and computes its result
// when it has theirs (FakeNcclCalls.h). So each collective waits for all ranks, in the order of its stream, also in a
// graph. Sums are computed in f64 and rounded once.
//
// Errors that hang or corrupt memory with the real library are detected: mismatched calls, memory that is not the
// device's, a rank that has left, has died or never arrives, an id that is used twice, a graph that outlives its
// communicator. Two ranks on one GPU are refused unless their NCCL_HOSTIDs differ. FAKE_NCCL_FAIL names a function that
// fails.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/FakeDevice.h"
#include "tests/codegen/cuda/FakeNcclCalls.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <set>
#include <unistd.h>

using namespace tessera::test;
using namespace tessera::test::nccl;

namespace {
struct Id {
  char bytes[128];
};
constexpr char idPrefix[] = "fake NCCL ";

using CommunicatorPointer = std::shared_ptr<Communicator>;

bool isToldToFail(const std::string &function) {
  const char *name = getenv("FAKE_NCCL_FAIL");
  return name && function == name && failed(systemError, function + " fails, as FAKE_NCCL_FAIL asks");
}

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

RankCard ownCard(int rank, int ranks) {
  RankCard card = {rank, ranks, currentDevice(), {}};
  const char *host = getenv("NCCL_HOSTID");
  snprintf(card.host, sizeof card.host, "%s", host ? host : "");
  return card;
}

/// What the real library says of two ranks on one GPU; empty if each rank has its own.
std::string sharedGpu(const RankLinks &links) {
  for (int rank = 0; rank < links.ranks(); ++rank)
    for (int other = 0; other < rank; ++other) {
      const RankCard &one = links.card(other), &two = links.card(rank);
      if (one.device == two.device && std::string(one.host) == two.host)
        return "Duplicate GPU detected : rank " + std::to_string(other) + " and rank " + std::to_string(rank) +
               " both on CUDA device " + std::to_string(one.device);
    }
  return "";
}

/// Whether this process did not use the id for that rank before.
bool isFirstUse(const std::string &id, int rank) {
  static std::mutex mutex;
  static std::set<std::pair<std::string, int>> used;
  std::lock_guard lock(mutex);
  return used.emplace(id, rank).second;
}

int connect(void **handle, const std::string &id, int rank, int ranks) {
  if (rank < 0 || rank >= ranks) return failed(invalidArgument, "no rank " + std::to_string(rank));
  if (id.rfind(idPrefix, 0) != 0) return failed(invalidArgument, "the id is not one of ncclGetUniqueId");
  if (!isFirstUse(id, rank)) return failed(invalidUsage, "rank " + std::to_string(rank) + " has used the id before");
  try {
    auto communicator = std::make_shared<Communicator>(id, ownCard(rank, ranks));
    if (std::string text = sharedGpu(communicator->links); !text.empty()) return failed(invalidUsage, text);
    *handle = new CommunicatorPointer(communicator);
    return success;
  } catch (const LinkError &error) {
    return failed(error.status, error.text);
  }
}

/// The rank leaves. Ranks that wait for it get an error.
int leave(void *handle, bool aborts) {
  std::unique_ptr<CommunicatorPointer> communicator(static_cast<CommunicatorPointer *>(handle));
  (*communicator)->links.close();
  if (communicator->use_count() > 1)
    return failed(invalidUsage, "a graph contains collectives of the communicator: the library would hang");
  if ((*communicator)->failure && !aborts)
    return failed(invalidUsage, "destroyed after an error: the library may hang");
  return success;
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
    for (auto &[stream, pending] : calls) {
      auto work = [pending = pending, step] { return ((*pending).*step)(); };
      // Runs now: the other ranks do not wait for this stream.
      if ((enqueue(stream, work, pending->call.text()) || runNow(stream)) && !failure) {
        std::lock_guard lock(pending->communicator->links.mutex);
        failure = pending->communicator->failure;
        if (!failure) failure = failed(cudaError, "the stream has failed before");
      }
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
std::string faultOf(const Pending &pending) {
  const Communicator &communicator = *pending.communicator;
  const Call &call = pending.call;
  if (bytesOf(call.type) == 0) return "type " + std::to_string(call.type);
  if (call.operation != -1 && call.operation != sum && call.operation != maximum && call.operation != average)
    return "reduction " + std::to_string(call.operation);
  bool hasPeer = call.isMessage() || call.function == broadcast;
  if (hasPeer && (call.peer < 0 || call.peer >= communicator.links.ranks()))
    return "no rank " + std::to_string(call.peer);
  if (!isMemory(pending.from, communicator.bytesRead(call), call.type))
    return "what it reads is not the device's memory";
  if (!isMemory(pending.to, communicator.bytesWritten(call), call.type))
    return "what it writes is not the device's memory";
  return "";
}

int begin(void *handle, const Call &call, const char *from, char *to, void *stream) {
  auto pending = std::make_shared<Pending>(*static_cast<CommunicatorPointer *>(handle), call, from, to);
  int status = success;
  if (isToldToFail(nameOf(call.function)))
    status = systemError;
  else if (std::string fault = faultOf(*pending); !fault.empty())
    status = failed(invalidArgument, call.text() + ": " + fault);
  if (group.depth > 0 && status) group.failure = status;
  if (status) return status;
  if (group.depth == 0) return start({{stream, pending}});
  group.calls.emplace_back(stream, pending);
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
  return (text = lastError()).c_str();
}

EXPORT int ncclGetUniqueId(Id *id) {
  static std::atomic<int> made = 0;
  if (isToldToFail("ncclGetUniqueId")) return systemError;
  *id = {};
  std::random_device random;
  snprintf(id->bytes, sizeof id->bytes, "%s%08x%08x of process %d, number %d", idPrefix, random(), random(), getpid(),
           ++made);
  return success;
}
EXPORT int ncclCommInitRank(void **handle, int ranks, Id id, int rank) {
  if (isToldToFail("ncclCommInitRank")) return systemError;
  return connect(handle, std::string(id.bytes, strnlen(id.bytes, sizeof id.bytes)), rank, ranks);
}
EXPORT int ncclCommDestroy(void *handle) { return leave(handle, false); }
EXPORT int ncclCommAbort(void *handle) { return leave(handle, true); }
EXPORT int ncclCommGetAsyncError(void *handle, int *status) {
  if (isToldToFail("ncclCommGetAsyncError")) return systemError;
  Communicator &communicator = **static_cast<CommunicatorPointer *>(handle);
  std::lock_guard lock(communicator.links.mutex);
  communicator.sort();
  *status = communicator.failure;
  return success;
}

EXPORT int ncclAllReduce(const char *from, char *to, size_t count, int type, int operation, void *handle,
                         void *stream) {
  return begin(handle, {allReduce, type, operation, -1, count}, from, to, stream);
}
EXPORT int ncclReduceScatter(const char *from, char *to, size_t count, int type, int operation, void *handle,
                             void *stream) {
  return begin(handle, {reduceScatter, type, operation, -1, count}, from, to, stream);
}
EXPORT int ncclAllGather(const char *from, char *to, size_t count, int type, void *handle, void *stream) {
  return begin(handle, {allGather, type, -1, -1, count}, from, to, stream);
}
EXPORT int ncclBroadcast(const char *from, char *to, size_t count, int type, int root, void *handle, void *stream) {
  return begin(handle, {broadcast, type, -1, root, count}, from, to, stream);
}
EXPORT int ncclSend(const char *from, size_t count, int type, int peer, void *handle, void *stream) {
  return begin(handle, {sending, type, -1, peer, count}, from, nullptr, stream);
}
EXPORT int ncclRecv(char *to, size_t count, int type, int peer, void *handle, void *stream) {
  return begin(handle, {receiving, type, -1, peer, count}, nullptr, to, stream);
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
