//===- Gemm.h - contractions as matrix multiplications --------------------===//
//
// A contraction is a GEMM if its axes fall into four groups, each of which has one stride in every tensor:
//
//   batch  in both operands and in the result
//   M      in one operand and in the result
//   N      in the other operand and in the result
//   K      in both operands, summed over
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_GEMM_GEMM_H
#define TESSERA_PASSES_GEMM_GEMM_H

#include "ir/dialect/Tsr.h"
#include "runtime/base/GemmMatrix.h"
#include <numeric>
#include <optional>
#include <vector>

namespace tessera {

/// The element type of a matrix of `element`; none if GEMMs do not support it.
std::optional<ElementType> elementTypeOf(mlir::Type element);

/// c [batch..., M, N] = a [batch..., M, K] · b [batch..., K, N]. All three have the same rank; a batch dimension of
/// size 1 is broadcast. Strides are in elements. c has unit stride on N, a and b on one of their last two dimensions.
struct ContractionGemm {
  GemmMatrix a, b; ///< of the same type, or of two fp8 types. Accumulators are f32
  GemmMatrix c;    ///< f32, or of the type of a and b if that has 16 bits
  /// Strides of the bias, aligned with the dimensions of c; zero: broadcast along that dimension. It varies along N
  /// only. After GELU's gradient it is the gradient of a bias: an output, the sum of c along M.
  std::optional<std::vector<int64_t>> bias;
  ElementType biasType = ElementType::F32; ///< f32, or for a GPU that of c
  bool accumulate = false;                 ///< c += a · b: the contraction has an `init`
  bool tf32 = false;                       ///< f32 operands may be rounded to tf32 on hardware that supports it
  std::optional<Epilogue> epilogue;        ///< applied to the accumulators, on a GPU
  /// There is a second matrix with the strides of c: the accumulators before GELU, or the operand of its gradient.
  bool hasAux = false;
  bool swapped = false; ///< a is the contraction's rhs and b its lhs

  int64_t m() const { return c.dims[c.dims.size() - 2]; }
  int64_t n() const { return c.dims.back(); }
  int64_t k() const { return a.dims.back(); }
  /// The number of matrix multiplications: the size of all batch dimensions together.
  int64_t batch() const { return std::accumulate(c.dims.begin(), c.dims.end() - 2, int64_t(1), std::multiplies<>()); }

  bool operator==(const ContractionGemm &) const = default;
};

/// Horizontally fused GEMMs: several of one description that have an operand in common, such as the query, key and
/// value projections of an attention.
struct FusedGemms {
  enum Operand { A, B };
  int64_t count = 1;
  Operand shared = A; ///< each GEMM has its own other operand and c

  bool fusesRows() const { return count > 1 && shared == B; }
  bool fusesColumns() const { return count > 1 && shared == A; }
  bool operator==(const FusedGemms &) const = default;
};

/// The types that decide whether a contraction is a GEMM.
struct ContractTypes {
  NamedTensorType lhs, rhs, result, bias; ///< `bias`, or its gradient, may be null
  llvm::SmallVector<llvm::StringRef> over;
};

/// The types of a contraction in its current memory order.
ContractTypes contractTypes(ContractOp contract);

/// Whether a contraction should be a GEMM: it has a supported element type and axes in both M and N, and is not tiny.
/// Others become kernels that multiply and accumulate. Does not consider memory orders.
bool isGemmShaped(const ContractTypes &types);

/// The GEMM that computes a contraction in its memory order; none if no GEMM can.
std::optional<ContractionGemm> describeGemm(const ContractTypes &types);
std::optional<ContractionGemm> describeGemm(ContractOp contract);

/// a and b of a contraction with this description.
std::pair<mlir::Value, mlir::Value> gemmOperands(ContractOp contract, const ContractionGemm &gemm);

/// The first stride that is not a multiple of `multiple`, of a dimension along which there is more than one element; 0
/// if there is none. Innermost is a stride of 1.
int64_t unalignedStride(const GemmMatrix &matrix, int64_t multiple);

/// Whether GEMMs of a description may be fused horizontally if they share this operand: they are not batched and have
/// no epilogue; and where rows are fused there is no bias, which varies along N.
bool canFuseHorizontally(const ContractionGemm &gemm, FusedGemms::Operand shared);

/// The horizontal fusion of the contractions of one launch; none if one of them is not a GEMM, or if they share no
/// operand.
std::optional<FusedGemms> fusedGemms(llvm::ArrayRef<mlir::Operation *> contractions);

/// Whether cuBLASLt has epilogues with GELU for a contraction in its memory order: one that is not batched, whose
/// result has its operands' type and rows of whole vectors.
bool mayHaveEpilogue(const ContractTypes &types);

} // namespace tessera

#endif // TESSERA_PASSES_GEMM_GEMM_H
