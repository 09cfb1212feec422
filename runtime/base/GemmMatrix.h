//===- GemmMatrix.h - a matrix of a GEMM ----------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_GEMMMATRIX_H
#define TESSERA_RUNTIME_BASE_GEMMMATRIX_H

#include "runtime/base/ElementType.h"

#include <cstdint>
#include <vector>

namespace tessera {

/// An operand or the result of a GEMM, with its batch dimensions. Strides are in elements.
struct GemmMatrix {
  ElementType type = ElementType::F32;
  std::vector<int64_t> dims, strides;

  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : dims) count *= dim;
    return count;
  }
  int64_t bytes() const { return elements() * bytesOf(type); }

  bool operator==(const GemmMatrix &) const = default;
};

} // namespace tessera

#endif // TESSERA_RUNTIME_BASE_GEMMMATRIX_H
