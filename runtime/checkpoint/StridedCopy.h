//===- StridedCopy.h - copies between orders of axes ----------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_STRIDEDCOPY_H
#define TESSERA_RUNTIME_CHECKPOINT_STRIDEDCOPY_H

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::runtime {

/// An axis that is walked on both sides, with its strides in elements.
struct StridedAxis {
  int64_t size = 0, from = 0, to = 0;
};

/// The number of elements that the axes walk.
int64_t elementsOf(const std::vector<StridedAxis> &axes);

/// The same with source and destination exchanged.
std::vector<StridedAxis> reversed(std::vector<StridedAxis> axes);

/// The same with a dense destination, or a dense source: row-major, the last axis innermost.
std::vector<StridedAxis> toDense(std::vector<StridedAxis> axes);
std::vector<StridedAxis> fromDense(std::vector<StridedAxis> axes);

/// Copies all elements of `axes`, each of 1, 2, 4 or 8 bytes. The addresses need no alignment.
void copyStrided(std::vector<StridedAxis> axes, int64_t elementBytes, const char *from, char *to);

/// Visits all elements of the source, in ascending order unless axes overlap, in runs of adjacent ones: visit(offset of
/// the first, count), in elements.
void forEachSourceRun(std::vector<StridedAxis> axes, const std::function<void(int64_t offset, int64_t count)> &visit);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_STRIDEDCOPY_H
