//===- AlignedParts.h - a GEMM of whole vectors and the rest of it --------===//
//
// cuBLASLt chooses its fast kernels by the sizes of contiguous dimensions, not only by where rows begin: 50257 columns
// in rows 50264 apart run at a seventh of the rate of 50264 columns. So a dimension that does not end with a whole
// vector is divided: into as many whole vectors as there are, and the few elements that remain.
//
//   c[:, :50256]  = a · b[:, :50256]          N; M likewise
//   c[:, 50256:]  = a · b[:, 50256:]
//
//   c  = a[:, 50256:] · b[50256:, :]          K: the short sum first. It is rounded to the type of c before the long
//   c += a[:, :50256] · b[:50256, :]          one is added to it, and is few of its products
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_GEMM_ALIGNEDPARTS_H
#define TESSERA_PASSES_GEMM_ALIGNEDPARTS_H

#include "passes/gemm/Gemm.h"

namespace tessera {

/// A part of a GEMM: a GEMM of its own, on operands that begin so many elements later.
struct GemmPart {
  ContractionGemm gemm;
  int64_t a = 0, b = 0, c = 0, bias = 0;
};

/// Operations below which a second call costs about what it gains. By the rates that an H200 reached, 2^31 take
/// 20 us in kernels for unaligned sizes and 4 us in the others.
constexpr int64_t leastOperationsOfParts = int64_t(1) << 31;

/// The parts in the order in which they run; the last one is the largest. One part, the whole: if all contiguous
/// dimensions end with whole vectors, if rows begin elsewhere (then no part would be fast), if there is an epilogue, if
/// the elements are not of 16 bits or tf32, or if the GEMM has fewer than `leastOperations`.
std::vector<GemmPart> alignedParts(const ContractionGemm &gemm, int64_t leastOperations = leastOperationsOfParts);

} // namespace tessera

#endif // TESSERA_PASSES_GEMM_ALIGNEDPARTS_H
