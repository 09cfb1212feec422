//===- StridedCopy.h - copies between orders of axes ----------------------===//

#ifndef TESSERA_RUNTIME_WEIGHTS_STRIDEDCOPY_H
#define TESSERA_RUNTIME_WEIGHTS_STRIDEDCOPY_H

#include <cstdint>
#include <vector>

namespace tessera::runtime {

/// An axis that is walked on both sides, with its strides in elements.
struct StridedAxis {
  int64_t size = 0, from = 0, to = 0;
};

/// The same with source and destination exchanged.
std::vector<StridedAxis> reversed(std::vector<StridedAxis> axes);

/// Copies all elements of `axes`, each of 1, 2, 4 or 8 bytes. The addresses need no alignment.
void copyStrided(std::vector<StridedAxis> axes, int64_t elementBytes, const char *from, char *to);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_WEIGHTS_STRIDEDCOPY_H
