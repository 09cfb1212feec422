//===- Nccl.cpp - collectives over NCCL -----------------------------------===//

#include "runtime/cuda/Nccl.h"

#include "runtime/base/Error.h"
#include "runtime/cuda/Library.h"

#include <cassert>

namespace tessera::runtime::cuda {

namespace {
using Comm = NcclComm *;

// As declared in nccl.h of NCCL 2.27.5 and 2.28.9. Its enumerations are ints.
static_assert(sizeof(UniqueId) == 128 && alignof(UniqueId) == 1, "ncclUniqueId is passed by value");
constexpr int success = 0, inProgress = 7; // ncclResult_t

/// ncclDataType_t. fp8 needs NCCL 2.24.
int libraryType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 7;
  case ElementType::F64:
    return 8;
  case ElementType::BF16:
    return 9;
  case ElementType::F16:
    return 6;
  case ElementType::I32:
    return 2;
  case ElementType::I64:
    return 4;
  case ElementType::I1:
  case ElementType::U8:
    return 1;
  case ElementType::E4M3:
  case ElementType::E5M2:
    fail("NCCL: collectives of {} are not supported", elementTypeName(type));
  }
  return 0;
}

int libraryReduction(ReductionKind reduction) {
  switch (reduction) {
  case ReductionKind::Sum:
    return 0;
  case ReductionKind::Max:
    return 2;
  case ReductionKind::Average:
    return 4;
  }
  return 0;
}

void *pointer(DevicePointer address) { return reinterpret_cast<void *>(address); }

size_t sizeOf(int64_t count) {
  assert(count >= 0);
  return static_cast<size_t>(count);
}

/// The library, opened once: in $TESSERA_NCCL if that is set.
struct Nccl {
  static const Nccl &get() {
    static const Nccl library;
    return library;
  }

  /// The meaning of a status: NCCL's name for it, and its last message if there is one.
  std::string describe(int status, Comm comm) const {
    const char *message = getLastError ? getLastError(comm) : nullptr;
    if (!message || !*message) return fmt::format("NCCL: {}", getErrorString(status));
    return fmt::format("NCCL: {}: {}", getErrorString(status), message);
  }

  const char *(*getErrorString)(int status);
  const char *(*getLastError)(Comm comm); ///< null: older versions lack it
  int (*getUniqueId)(UniqueId *id);
  int (*commInitRank)(Comm *comm, int ranks, UniqueId id, int rank);
  int (*commDestroy)(Comm comm);
  int (*commAbort)(Comm comm);
  int (*commGetAsyncError)(Comm comm, int *status);
  int (*allReduce)(const void *from, void *to, size_t count, int type, int reduction, Comm comm, Stream stream);
  int (*reduceScatter)(const void *from, void *to, size_t count, int type, int reduction, Comm comm, Stream stream);
  int (*allGather)(const void *from, void *to, size_t count, int type, Comm comm, Stream stream);
  int (*broadcast)(const void *from, void *to, size_t count, int type, int root, Comm comm, Stream stream);
  int (*send)(const void *from, size_t count, int type, int peer, Comm comm, Stream stream);
  int (*receive)(void *to, size_t count, int type, int peer, Comm comm, Stream stream);
  int (*groupStart)();
  int (*groupEnd)();

private:
  Nccl() {
    Library library("TESSERA_NCCL", {"libnccl.so.2"}, "install NCCL, or name its folder in TESSERA_NCCL");
    library.find(getErrorString, "ncclGetErrorString");
    library.find(getUniqueId, "ncclGetUniqueId");
    library.find(commInitRank, "ncclCommInitRank");
    library.find(commDestroy, "ncclCommDestroy");
    library.find(commAbort, "ncclCommAbort");
    library.find(commGetAsyncError, "ncclCommGetAsyncError");
    library.find(allReduce, "ncclAllReduce");
    library.find(reduceScatter, "ncclReduceScatter");
    library.find(allGather, "ncclAllGather");
    library.find(broadcast, "ncclBroadcast");
    library.find(send, "ncclSend");
    library.find(receive, "ncclRecv");
    library.find(groupStart, "ncclGroupStart");
    library.find(groupEnd, "ncclGroupEnd");
    try {
      library.find(getLastError, "ncclGetLastError");
    } catch (const Error &) {
      getLastError = nullptr;
    }
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

UniqueId Communicator::makeId() {
  const Nccl &nccl = Nccl::get();
  UniqueId id;
  int status = nccl.getUniqueId(&id);
  if (status != success) fail("cannot create an id for a communicator: {}", nccl.describe(status, nullptr));
  return id;
}

Communicator::Communicator(int rank, int ranks, const UniqueId &id) : ownRank(rank), rankCount(ranks) {
  const Nccl &nccl = Nccl::get();
  int status = nccl.commInitRank(&handle, ranks, id, rank);
  if (status != success) fail("cannot connect rank {} of {}: {}", rank, ranks, nccl.describe(status, nullptr));
}

Communicator::~Communicator() {
  const Nccl &nccl = Nccl::get();
  int failure = success, status = nccl.commGetAsyncError(handle, &failure);
  bool isWhole = status == success && failure == success;
  status = isWhole ? nccl.commDestroy(handle) : nccl.commAbort(handle);
  if (status != success)
    warn("rank {} of {} cannot leave its communicator in order: {}", ownRank, rankCount,
         nccl.describe(status, nullptr));
}

void Communicator::check() const {
  const Nccl &nccl = Nccl::get();
  int failure = success, status = nccl.commGetAsyncError(handle, &failure);
  if (status == success && failure != inProgress) status = failure;
  if (status != success)
    fail("communication of rank {} of {} failed: {}", ownRank, rankCount, nccl.describe(status, handle));
}

void Communicator::require(int status, const char *function, std::string_view name) const {
  if (status != success)
    fail("{} '{}' on rank {} of {}: {}", function, name, ownRank, rankCount, Nccl::get().describe(status, handle));
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

void Communicator::allReduce(std::string_view name, DevicePointer from, DevicePointer to, int64_t count,
                             ElementType type, ReductionKind reduction, Stream stream) {
  require(Nccl::get().allReduce(pointer(from), pointer(to), sizeOf(count), libraryType(type),
                                libraryReduction(reduction), handle, stream),
          "allReduce", name);
}

void Communicator::reduceScatter(std::string_view name, DevicePointer from, DevicePointer to, int64_t count,
                                 ElementType type, ReductionKind reduction, Stream stream) {
  require(Nccl::get().reduceScatter(pointer(from), pointer(to), sizeOf(count), libraryType(type),
                                    libraryReduction(reduction), handle, stream),
          "reduceScatter", name);
  handedOver += (rankCount - 1) * count * bytesOf(type);
}

void Communicator::allGather(std::string_view name, DevicePointer from, DevicePointer to, int64_t count,
                             ElementType type, Stream stream) {
  require(Nccl::get().allGather(pointer(from), pointer(to), sizeOf(count), libraryType(type), handle, stream),
          "allGather", name);
  handedOver += (rankCount - 1) * count * bytesOf(type);
}

void Communicator::broadcast(std::string_view name, DevicePointer from, DevicePointer to, int64_t count,
                             ElementType type, int root, Stream stream) {
  require(Nccl::get().broadcast(pointer(from), pointer(to), sizeOf(count), libraryType(type), root, handle, stream),
          "broadcast", name);
}

void Communicator::send(std::string_view name, DevicePointer from, int64_t count, ElementType type, int peer,
                        Stream stream) {
  require(Nccl::get().send(pointer(from), sizeOf(count), libraryType(type), peer, handle, stream), "send", name);
  if (peer != ownRank) handedOver += count * bytesOf(type);
}

void Communicator::receive(std::string_view name, DevicePointer to, int64_t count, ElementType type, int peer,
                           Stream stream) {
  require(Nccl::get().receive(pointer(to), sizeOf(count), libraryType(type), peer, handle, stream), "receive", name);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

Communicator::Group::Group(const Communicator &communicator, std::string_view name)
    : communicator(communicator), name(name) {
  communicator.require(Nccl::get().groupStart(), "group", name);
  isOpen = true;
}

Communicator::Group::~Group() {
  if (isOpen) Nccl::get().groupEnd();
}

void Communicator::Group::end() {
  isOpen = false;
  communicator.require(Nccl::get().groupEnd(), "group", name);
}

} // namespace tessera::runtime::cuda
