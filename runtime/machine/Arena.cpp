//===- Arena.cpp - the memory of a program --------------------------------===//

#include "runtime/machine/Arena.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace tessera::runtime {

static constexpr int64_t pageBytes = 4096;

static void touchPages(void *const *args, int64_t begin, int64_t end, void *) {
  volatile char *memory = static_cast<volatile char *>(args[0]);
  for (int64_t page = begin; page < end; ++page) memory[page * pageBytes] = 0;
}

Arena::Arena(int64_t wanted, Threads &threads, const MemoryAdvice &advice, const std::optional<AvailableMemory> &share)
    : bytes(std::max<int64_t>(wanted, 1)) {
  AvailableMemory available = availableMemory();
  if (share && share->bytes < available.bytes) available = *share;
  if (bytes > available.bytes)
    fail("not enough memory: the program needs {} ({} bytes), {} has {} left ({} bytes); "
         "free memory, or {}",
         formatBytes(bytes), bytes, available.limit, formatBytes(available.bytes), available.bytes,
         advice ? advice(available.bytes) : "compile with a smaller batch");
  void *block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED)
    fail("cannot allocate {} ({} bytes): {}; lift the limits on memory, or compile with a smaller batch",
         formatBytes(bytes), bytes, strerror(errno));
  memory = static_cast<char *>(block);
  madvise(memory, bytes, MADV_HUGEPAGE); // only a hint: failure is harmless
  void *args[] = {memory};
  // In grains of a huge page, so that each thread touches the part it will mostly use (NUMA first touch).
  threads.parallelFor(touchPages, args, (bytes + pageBytes - 1) / pageBytes, 512);
}

Arena::~Arena() {
  if (memory) munmap(memory, bytes);
}

} // namespace tessera::runtime
