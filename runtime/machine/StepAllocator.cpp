//===- StepAllocator.cpp - serves small allocations inside a step ---------===//
//
// The region is divided into pages of 64 KiB, each for one size class. A class gets a page when its free list is
// empty. One spin lock protects everything: contention is rare, since libraries allocate on the thread that runs the
// step.
//
//===----------------------------------------------------------------------===//

#include "runtime/machine/StepAllocator.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <sys/mman.h>

namespace tessera::runtime::stepallocator {

static constexpr size_t pageBytes = 64 << 10;
static constexpr size_t pages = regionBytes / pageBytes;
static constexpr size_t smallest = 64, classes = 10; // 64 bytes to 32 KiB
/// Blocks are aligned to their size up to this, the alignment of the region.
static constexpr size_t largestAlignment = 4096;

namespace {
struct FreeBlock {
  FreeBlock *next;
};

struct Region {
  char *memory = nullptr;
  size_t usedPages = 0;
  unsigned char pageClass[pages] = {};
  FreeBlock *free[classes] = {};
};

class SpinLock {
public:
  explicit SpinLock(std::atomic_flag &flag) : flag(flag) {
    while (flag.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  }
  ~SpinLock() { flag.clear(std::memory_order_release); }

private:
  std::atomic_flag &flag;
};
} // namespace

// Plain objects without constructors: malloc runs before any constructor does.
static constinit Region region;
static constinit std::atomic_flag lock = ATOMIC_FLAG_INIT;
static constinit std::atomic<int> stepDepth = 0;
static constinit std::atomic<uint64_t> missed = 0;

void reserve() {
  if (region.memory) return;
  void *block = mmap(nullptr, regionBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (block != MAP_FAILED) region.memory = static_cast<char *>(block);
}

void beginStep() { stepDepth.fetch_add(1, std::memory_order_relaxed); }
void endStep() { stepDepth.fetch_sub(1, std::memory_order_relaxed); }
uint64_t stepAllocations() { return missed.load(); }

static size_t classOf(size_t size) {
  return size <= smallest ? 0 : std::bit_width(size - 1) - std::bit_width(smallest - 1);
}

/// Assigns a fresh page to a class. Returns false if none is left.
static bool refill(size_t sizeClass) {
  if (region.usedPages == pages) return false;
  size_t page = region.usedPages++;
  region.pageClass[page] = sizeClass;
  size_t size = smallest << sizeClass;
  char *begin = region.memory + page * pageBytes;
  for (size_t at = pageBytes; at >= size; at -= size) {
    auto *block = reinterpret_cast<FreeBlock *>(begin + at - size);
    block->next = region.free[sizeClass];
    region.free[sizeClass] = block;
  }
  return true;
}

void *tryTake(size_t size, size_t alignment) {
  if (stepDepth.load(std::memory_order_relaxed) == 0) return nullptr;
  size_t sizeClass = classOf(std::max(size, alignment));
  if (region.memory && sizeClass < classes && alignment <= largestAlignment) {
    SpinLock guard(lock);
    if (region.free[sizeClass] || refill(sizeClass)) {
      FreeBlock *block = region.free[sizeClass];
      region.free[sizeClass] = block->next;
      return block;
    }
  }
  missed.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

static bool isInside(const void *block) {
  auto address = reinterpret_cast<uintptr_t>(block), begin = reinterpret_cast<uintptr_t>(region.memory);
  return begin != 0 && address >= begin && address < begin + regionBytes;
}

size_t blockSize(const void *block) {
  if (!isInside(block)) return 0;
  return smallest << region.pageClass[(static_cast<const char *>(block) - region.memory) / pageBytes];
}

bool tryGive(void *block) {
  if (!isInside(block)) return false;
  size_t sizeClass = region.pageClass[(static_cast<char *>(block) - region.memory) / pageBytes];
  SpinLock guard(lock);
  auto *entry = static_cast<FreeBlock *>(block);
  entry->next = region.free[sizeClass];
  region.free[sizeClass] = entry;
  return true;
}

} // namespace tessera::runtime::stepallocator
