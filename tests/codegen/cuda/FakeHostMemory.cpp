//===- FakeHostMemory.cpp - pinned memory of the fake driver ----------------===//
//
// As cuMemcpy's documentation has it, the host's side of a copy is registered as a whole or not at all. A range is
// pinned in whole pages, but only the bytes that were registered count: a copy that touches a pinned page beyond them
// is refused, and so is one across two registrations.
//
//===----------------------------------------------------------------------===//

#include "tests/codegen/cuda/FakeDevice.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera::test;

namespace {
constexpr int alreadyRegistered = 712, notRegistered = 713;

struct Pinned {
  uintptr_t end;
  bool isAllocated; ///< by cuMemHostAlloc
};
std::map<uintptr_t, Pinned> pinned; ///< by first byte
std::mutex pinnedMutex;             ///< ranks may be threads

uintptr_t pageOf(uintptr_t address) { return address / static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)); }

/// Whether the pages of these bytes contain pinned ones.
bool touchesPinned(uintptr_t begin, uintptr_t end) {
  for (auto &[first, range] : pinned)
    if (pageOf(first) <= pageOf(end - 1) && pageOf(begin) <= pageOf(range.end - 1)) return true;
  return false;
}
} // namespace

bool tessera::test::isUniformHostRange(const void *memory, size_t bytes) {
  std::lock_guard lock(pinnedMutex);
  auto begin = reinterpret_cast<uintptr_t>(memory);
  if (bytes == 0 || !touchesPinned(begin, begin + bytes)) return true;
  auto it = pinned.upper_bound(begin);
  return it != pinned.begin() && begin + bytes <= std::prev(it)->second.end;
}

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned) {
  std::lock_guard lock(pinnedMutex);
  auto begin = reinterpret_cast<uintptr_t>(memory);
  if (begin == 0 || bytes == 0) return invalidValue;
  if (touchesPinned(begin, begin + bytes)) return alreadyRegistered;
  return pinned[begin] = {begin + bytes, false}, 0;
}
EXPORT int cuMemHostUnregister(void *memory) {
  std::lock_guard lock(pinnedMutex);
  auto it = pinned.find(reinterpret_cast<uintptr_t>(memory));
  if (it == pinned.end() || it->second.isAllocated) return notRegistered;
  return pinned.erase(it), 0;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  std::lock_guard lock(pinnedMutex);
  if (bytes == 0) return invalidValue;
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return outOfMemory;
  auto begin = reinterpret_cast<uintptr_t>(address);
  pinned[begin] = {begin + bytes, true};
  return *memory = address, 0;
}
EXPORT int cuMemFreeHost(void *memory) {
  std::lock_guard lock(pinnedMutex);
  auto it = pinned.find(reinterpret_cast<uintptr_t>(memory));
  if (it == pinned.end() || !it->second.isAllocated) return invalidValue;
  munmap(memory, it->second.end - it->first);
  return pinned.erase(it), 0;
}
