//===- StackPairs.h - stacks that one loop empties and fills --------------===//
//
// How far two buffers that are live at the same time must be apart, and how much of their bytes at most the stacks of
// a loop can have in common. Independent of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_STACKPAIRS_H
#define TESSERA_PASSES_MEMORY_STACKPAIRS_H

#include "passes/memory/Offsets.h"

namespace tessera {

/// Whether one loop empties `old` while it fills `fresh`, and both are live at the same time only then.
inline bool areStackPair(const Lifetime &old, const Lifetime &fresh) {
  return old.emptied.loop >= 0 && old.emptied.loop == fresh.filled.loop;
}

/// By how much the offset of `upper` must exceed that of `lower` at least, if both are live at some moment and `upper`
/// is the one with the larger offset. All larger distances will do too. Positive, aligned, and at most the size of
/// `lower`: less for two stacks of a loop, where all slots are still read before they are written.
int64_t leastDistance(const Lifetime &lower, const Lifetime &upper);

/// Bytes that two stacks have in common if they are as close as they may be; 0 for any other two buffers.
int64_t sharedBytes(const Lifetime &old, const Lifetime &fresh);

/// How the bytes that pairs of stacks have in common are counted: as the old one's, as the fresh one's, or divided
/// between them in the way that gives the best bound.
enum class SharedCount { Old, Fresh, Divided };

/// Bytes of a buffer that need no room of their own while a loop fills it, and while a loop empties it.
struct SharedPart {
  int64_t asFresh = 0, asOld = 0;
  int freshUntil = -1; ///< the moment where the loop that fills it ends
  int oldFrom = 0;     ///< the moment where the loop that empties it begins

  int64_t at(int moment) const { return (moment <= freshUntil ? asFresh : 0) + (moment >= oldFrom ? asOld : 0); }
};

/// For each buffer at least the bytes that it has in common with the one right below or above it, whatever the packing,
/// as far as they count as its own. The sizes less these bytes need room side by side: in the order of offsets each
/// stack has at most one partner next to it.
llvm::SmallVector<SharedPart> mostShared(llvm::ArrayRef<Lifetime> buffers, SharedCount count);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_STACKPAIRS_H
