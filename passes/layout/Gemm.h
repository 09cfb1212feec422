//===- Gemm.h - contractions as matrix products ---------------------------===//

#ifndef TESSERA_PASSES_LAYOUT_GEMM_H
#define TESSERA_PASSES_LAYOUT_GEMM_H

#include "ir/Tsr.h"
#include <optional>
#include <vector>

namespace tessera {

/// c [batch..., M, N] = a [batch..., M, K] · b [batch..., K, N], as docs/manifest.md lists it: all of one rank, strides in
/// elements, a batch dimension of size 1 is broadcast.
struct GemmDescription {
  std::vector<int64_t> dimsA, stridesA;
  std::vector<int64_t> dimsB, stridesB;
  std::vector<int64_t> dimsC, stridesC;
  /// Strides of the bias, aligned with the dimensions of c; zero: broadcast along that dimension.
  std::optional<std::vector<int64_t>> bias;
  bool accumulate = false; ///< c += a · b: the contraction has an `init`
  bool swapped = false;    ///< a is the contraction's rhs and b its lhs

  bool operator==(const GemmDescription &) const = default;
};

/// How a library computes the contraction on its operands as they lie in memory (types in memory order), or nothing where
/// it cannot without moving an operand.
std::optional<GemmDescription> describeGemm(ContractOp op);

} // namespace tessera

#endif // TESSERA_PASSES_LAYOUT_GEMM_H
