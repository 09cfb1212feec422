//===- Offsets.h - offsets for buffers with lifetimes ---------------------------===//
//
// Dynamic storage allocation, knowing all lifetimes: buffers that live at the
// same time must not overlap. NP-hard; greedy by size with best fit is at the
// lower bound for nearly all programs. Knows nothing of IR.
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

/// A buffer that lives from `start` to `end`, both inclusive.
struct Lifetime {
  int64_t bytes = 0;
  int start = 0, end = 0;
};

struct Packing {
  llvm::SmallVector<int64_t> offsets; ///< one for each buffer, aligned
  int64_t bytes = 0;                  ///< end of the highest buffer
};

/// Gives each buffer an offset. The same input gives the same offsets.
Packing packBuffers(llvm::ArrayRef<Lifetime> buffers);

/// Bytes live at the fullest moment: no packing takes less.
int64_t liveBytesBound(llvm::ArrayRef<Lifetime> buffers);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_OFFSETS_H
