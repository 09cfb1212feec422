//===- Gemm.h - contractions as library calls ------------------------------===//
//
// A contraction is a matrix product when its axes fall into four groups that
// each lie in memory with one stride:
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
#include "runtime/base/ElementType.h"
#include <numeric>
#include <optional>
#include <vector>

namespace tessera {

using NumberType = ElementType;

/// The element type of matrices of `element`; none where contractions do not take it.
std::optional<ElementType> numberTypeOf(mlir::Type element);
inline llvm::StringRef numberTypeName(ElementType type) { return elementTypeName(type); }

/// c [batch..., M, N] = a [batch..., M, K] · b [batch..., K, N]. All three have the same rank; a batch dimension of
/// size 1 is broadcast. Strides are in elements. c has unit stride on N, a and b on one of their last two dimensions.
struct GemmDescription {
  /// Of a and b: the same, or two fp8 types. Accumulators are f32.
  NumberType typeA = NumberType::F32, typeB = NumberType::F32;
  NumberType resultType = NumberType::F32; ///< of c: f32, or that of a and b if it has 16 bits
  std::vector<int64_t> dimsA, stridesA;
  std::vector<int64_t> dimsB, stridesB;
  std::vector<int64_t> dimsC, stridesC;
  /// Strides of the bias, aligned with the dimensions of c; zero: broadcast along that dimension. It varies along N only.
  /// Behind GELU's gradient the gradient of a bias: it is written, the sum of c along M.
  std::optional<std::vector<int64_t>> bias;
  NumberType biasType = NumberType::F32; ///< f32, or for a GPU that of c
  bool accumulate = false;               ///< c += a · b, where c is f32: the contraction has an `init`
  bool tf32 = false;                     ///< f32 operands may be rounded to tf32 where the machine has it
  std::optional<Epilogue> epilogue;      ///< what becomes of sums, on a GPU
  bool hasAux =
      false; ///< there is a matrix beside c, which lies as c does: the sums before GELU, or what its gradient is taken at
  bool swapped = false; ///< a is the contraction's rhs and b its lhs

  int64_t m() const { return dimsC[dimsC.size() - 2]; }
  int64_t n() const { return dimsC.back(); }
  int64_t k() const { return dimsA.back(); }
  /// Products: the size of all batch dimensions together.
  int64_t batch() const { return std::accumulate(dimsC.begin(), dimsC.end() - 2, int64_t(1), std::multiplies<>()); }

  bool operator==(const GemmDescription &) const = default;
};

/// Several products of one description that have an operand in common, as the three projections of an attention have.
struct MergedProducts {
  enum Operand { A, B };
  int64_t count = 1;
  Operand shared = A; ///< the other operand and c of each product lie somewhere else

  bool mergesRows() const { return count > 1 && shared == B; }
  bool mergesColumns() const { return count > 1 && shared == A; }
  bool operator==(const MergedProducts &) const = default;
};

/// The types that decide whether a contraction is a matrix product.
struct ContractTypes {
  NamedTensorType lhs, rhs, result, bias; ///< `bias`, or its gradient, may be null
  llvm::SmallVector<llvm::StringRef> over;
};

/// The types of a contraction as they stand.
ContractTypes contractTypes(ContractOp contract);

/// Whether a contraction is worth a library call at all: of a number type above, with axes in both M and N, and not tiny. What is not
/// becomes a kernel that multiplies and adds up. Does not look at memory orders.
bool isGemmShaped(const ContractTypes &types);

/// The library call that computes a contraction in its memory order; none if no call does.
std::optional<GemmDescription> describeGemm(const ContractTypes &types);
std::optional<GemmDescription> describeGemm(ContractOp contract);

/// a and b of a contraction with this description.
std::pair<mlir::Value, mlir::Value> gemmOperands(ContractOp contract, const GemmDescription &gemm);

/// Whether products of a description may be merged that share an operand: single ones, and rows of a bias are columns of c.
bool isMergeable(const GemmDescription &gemm, MergedProducts::Operand shared);

/// What contractions are that follow each other in one launch; none if one of them is no product, or they share no operand.
std::optional<MergedProducts> mergedProducts(llvm::ArrayRef<mlir::Operation *> contractions);

/// Whether cuBLASLt has epilogues with GELU for a contraction in its memory order: a single product whose result has its operands'
/// type and rows of whole vectors.
bool mayHaveEpilogue(const ContractTypes &types);

} // namespace tessera

#endif // TESSERA_PASSES_GEMM_GEMM_H
