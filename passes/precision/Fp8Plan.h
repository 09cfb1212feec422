//===- Fp8Plan.h - which contractions multiply numbers of eight bits ------===//
//
// Numbers of eight bits are exact to 6 % (e4m3) or 12 % (e5m2). What averages over many of them bears that: products of activations
// with matrices of weights, and what is computed backwards through these. So the pass decides for matrices of weights:
//
//   low     matrices of parameters that meet an activation in a contraction: in the forward pass, in the gradient of the activation,
//           and the contractions that give the matrix' own gradient
//   not     those whose product goes into a softmax, a cross-entropy, an exponential or a logarithm, with nothing in between but a bias, a
//           factor, a mask or what a stable formula needs: scores, of which one decides. Matrices with one use that is kept in f32.
//           Products of activations with each other (an attention). For a GPU: matrices whose dimensions are no multiples of 16
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_FP8PLAN_H
#define TESSERA_PASSES_PRECISION_FP8PLAN_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// What an operand of a contraction is to the matrix of weights in whose passes it stands.
enum class Fp8Role { Weight, Activation, Gradient };

struct Fp8Product {
  ContractOp contract;
  Fp8Role roles[2]; ///< of lhs and rhs
  /// Axes of the repeats that pass through the matrix slice by slice: its slices, and what they are multiplied with, are tensors of their
  /// own.
  llvm::SmallSetVector<llvm::StringRef, 2> stacks;

  bool sumsOver(llvm::StringRef axis) const { return llvm::is_contained(names(ContractOp(contract).getOver()), axis); }
};

/// What numbers of eight bits were made of: x in cast(x * scale). Null for other values.
mlir::Value behindQuantization(mlir::Value value);

/// In the order of the function. The same before and after the operands are rounded; the gradients of matrices are found as long as
/// `tsr.update` says which they are.
std::vector<Fp8Product> planFp8(mlir::func::FuncOp step);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_FP8PLAN_H
