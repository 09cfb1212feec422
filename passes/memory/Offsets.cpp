//===- Offsets.cpp - offsets for buffers with lifetimes --------------------------===//
//
//   1. Buffers are taken in some order.
//   2. Each goes into the smallest gap that holds it between the buffers placed already that live at the same time, or
//      on top.
//   3. This is done for a few orders (size; size times duration; start) until one meets the lower bound; the best is
//      kept.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/Offsets.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <limits>
#include <map>
#include <numeric>

using namespace tessera;
using llvm::ArrayRef;
using llvm::SmallVector;

int64_t tessera::liveBytesBound(ArrayRef<Lifetime> buffers) {
  std::map<int, int64_t> changes;
  for (const Lifetime &buffer : buffers) {
    changes[buffer.start] += alignedBytes(buffer.bytes);
    changes[buffer.end + 1] -= alignedBytes(buffer.bytes);
  }
  int64_t live = 0, most = 0;
  for (auto [time, change] : changes) most = std::max(most, live += change);
  return most;
}

namespace {
struct Placed {
  int64_t offset, end;
  int start, last;
};
} // namespace

/// The lowest address of the smallest gap of at least `bytes` among what is placed (by offset) and lives in [start,
/// last].
static int64_t findGap(const std::vector<Placed> &placed, int64_t bytes, int start, int last) {
  int64_t top = 0, best = -1, bestSize = std::numeric_limits<int64_t>::max();
  for (const Placed &other : placed) {
    if (other.last < start || last < other.start) continue;
    int64_t gap = other.offset - top;
    if (gap >= bytes && gap < bestSize) best = top, bestSize = gap;
    top = std::max(top, other.end);
  }
  return best >= 0 ? best : top;
}

static Packing packInOrder(ArrayRef<Lifetime> buffers, ArrayRef<unsigned> order) {
  Packing packing;
  packing.offsets.assign(buffers.size(), 0);
  std::vector<Placed> placed;
  placed.reserve(buffers.size());
  for (unsigned i : order) {
    const Lifetime &buffer = buffers[i];
    int64_t bytes = alignedBytes(buffer.bytes);
    int64_t offset = findGap(placed, bytes, buffer.start, buffer.end);
    packing.offsets[i] = offset;
    packing.bytes = std::max(packing.bytes, offset + bytes);
    Placed entry{offset, offset + bytes, buffer.start, buffer.end};
    placed.insert(
        llvm::upper_bound(placed, entry, [](const Placed &a, const Placed &b) { return a.offset < b.offset; }), entry);
  }
  return packing;
}

Packing tessera::packBuffers(ArrayRef<Lifetime> buffers) {
  SmallVector<unsigned> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  auto duration = [&](unsigned i) { return static_cast<double>(buffers[i].end - buffers[i].start + 1); };
  auto sortBy = [&](auto key) {
    llvm::sort(order, [&](unsigned a, unsigned b) {
      auto ka = key(a), kb = key(b);
      return ka != kb ? ka > kb : a < b;
    });
  };
  int64_t bound = liveBytesBound(buffers);
  sortBy([&](unsigned i) { return std::pair(static_cast<double>(buffers[i].bytes), duration(i)); });
  Packing best = packInOrder(buffers, order);
  auto attempt = [&] {
    Packing other = packInOrder(buffers, order);
    if (other.bytes < best.bytes) best = std::move(other);
  };
  if (best.bytes > bound)
    sortBy([&](unsigned i) { return duration(i) * static_cast<double>(buffers[i].bytes); }), attempt();
  if (best.bytes > bound)
    sortBy([&](unsigned i) { return std::pair(duration(i), static_cast<double>(buffers[i].bytes)); }), attempt();
  if (best.bytes > bound)
    sortBy([&](unsigned i) {
      return std::pair(-static_cast<double>(buffers[i].start), static_cast<double>(buffers[i].bytes));
    }),
        attempt();
  return best;
}
