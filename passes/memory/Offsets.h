//===- Offsets.h - offsets for buffers with lifetimes ---------------------===//
//
// Dynamic storage allocation with known lifetimes: buffers that are live at the same time must not overlap. NP-hard;
// greedy by size with best fit reaches the lower bound for most programs, and a search for most others. Independent of
// IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_OFFSETS_H
#define TESSERA_PASSES_MEMORY_OFFSETS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace tessera {

/// Offsets and sizes of buffers are multiples of this many bytes.
inline constexpr int64_t bufferAlignment = 64;

constexpr int64_t alignedBytes(int64_t bytes) {
  return (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
}

/// How a loop accesses a buffer of equal slots, one in each iteration.
struct StackUse {
  int loop = -1;          ///< identifies the loop; -1: none
  int64_t slots = 0;      ///< iterations of the loop; the buffer begins with as many slots
  bool backwards = false; ///< from the last slot to the first
  int64_t slotBytes = 0;  ///< 0: the slots are the whole buffer
};

/// A buffer that lives from `start` to `end`, both inclusive.
///
/// A loop that empties one stack while it fills another does not need both in full. Such a pair may overlap as far as
/// no slot is written before it has been read.
struct Lifetime {
  int64_t bytes = 0;
  int start = 0, end = 0;
  StackUse emptied = {}; ///< by a loop that is the last to read it: a slot is dead after its iteration
  StackUse filled = {};  ///< by a loop that is the first to write it: a slot is alive from its iteration on

  int64_t slotOf(const StackUse &use) const { return use.slotBytes > 0 ? use.slotBytes : bytes / use.slots; }
};

struct Packing {
  llvm::SmallVector<int64_t> offsets; ///< one for each buffer, aligned
  int64_t bytes = 0;                  ///< end of the highest buffer
  int64_t bound = 0;                  ///< no packing needs less

  bool isOptimal() const { return bytes == bound; }
};

/// The bytes that count of a buffer from the moment `start` to `end`: all, or its share while a loop empties stacks and
/// fills others.
struct LiveSpan {
  unsigned buffer;
  int64_t bytes;
  int start, end;
};

/// The spans of all buffers. Their sum at a moment is what is live then; of a loop that empties stacks and fills others
/// in the iteration with the most bytes, the first or the last.
llvm::SmallVector<LiveSpan> liveSpans(llvm::ArrayRef<Lifetime> buffers);

/// Gives each buffer an offset. The same input gives the same offsets.
Packing packBuffers(llvm::ArrayRef<Lifetime> buffers);

/// Moments, in order, such that buffers which are live at one moment are all live at one of these.
llvm::SmallVector<int> fullMoments(llvm::ArrayRef<Lifetime> buffers);

/// Peak live memory: the largest sum of `liveSpans`. No packing needs less.
int64_t liveBytesBound(llvm::ArrayRef<Lifetime> buffers);

/// The same, but for stacks that one loop empties and fills it counts how close they may be. No packing needs less, and
/// none that needs so little may exist.
int64_t packingBound(llvm::ArrayRef<Lifetime> buffers);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_OFFSETS_H
