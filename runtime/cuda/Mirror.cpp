//===- Mirror.cpp - the host's copy of a GPU's arena ----------------------===//

#include "runtime/cuda/Mirror.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace tessera::runtime::cuda {

Mirror::Mirror(int64_t bytes) : size(std::max<int64_t>(bytes, 1)) {
  void *reserved = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) fail("cannot reserve {} bytes of address space", bytes);
  memory = static_cast<char *>(reserved);
}

Mirror::~Mirror() {
  unpin();
  munmap(memory, static_cast<size_t>(size));
}

void Mirror::add(int64_t offset, int64_t bytes) {
  if (bytes <= 0) return;
  const int64_t page = sysconf(_SC_PAGESIZE);
  int64_t begin = offset / page * page, end = (offset + bytes + page - 1) / page * page;
  // Ranges that overlap or touch become one.
  auto it = wanted.upper_bound(begin);
  if (it != wanted.begin() && std::prev(it)->second >= begin) --it;
  while (it != wanted.end() && it->first <= end) {
    begin = std::min(begin, it->first), end = std::max(end, it->second);
    it = wanted.erase(it);
  }
  wanted.emplace(begin, end);
}

void Mirror::pin() {
  for (auto [begin, end] : wanted)
    if (driver.memHostRegister(memory + begin, static_cast<size_t>(end - begin), 0) == 0) pinned.emplace(begin, end);
  wanted.clear();
}

void Mirror::unpin() {
  for (auto [begin, end] : pinned) driver.memHostUnregister(memory + begin);
  pinned.clear();
}

template <typename Copy> void Mirror::forEachPart(int64_t offset, int64_t bytes, Copy copy) const {
  for (int64_t end = offset + bytes; offset < end;) {
    auto next = pinned.upper_bound(offset);
    int64_t partEnd = next == pinned.end() ? end : std::min(end, next->first);
    if (next != pinned.begin() && std::prev(next)->second > offset) partEnd = std::min(end, std::prev(next)->second);
    copy(offset, partEnd - offset);
    offset = partEnd;
  }
}

void Mirror::copyToDevice(DevicePointer to, int64_t offset, int64_t bytes, Stream stream,
                          const std::string &what) const {
  forEachPart(offset, bytes, [&](int64_t part, int64_t partBytes) {
    DevicePointer place = to + static_cast<DevicePointer>(part - offset);
    driver.check(driver.memcpyHtoDAsync(place, memory + part, static_cast<size_t>(partBytes), stream), what);
  });
}

void Mirror::copyToHost(int64_t offset, DevicePointer from, int64_t bytes, Stream stream,
                        const std::string &what) const {
  forEachPart(offset, bytes, [&](int64_t part, int64_t partBytes) {
    DevicePointer place = from + static_cast<DevicePointer>(part - offset);
    driver.check(driver.memcpyDtoHAsync(memory + part, place, static_cast<size_t>(partBytes), stream), what);
  });
}

} // namespace tessera::runtime::cuda
