//===- Fp8Plan.h - which contractions have fp8 operands -------------------===//
//
// fp8 elements have a relative error of up to 6 % (e4m3) or 12 % (e5m2). That is acceptable where a contraction
// averages over many of them: contractions of activations with weight matrices, and those of their backward pass. So
// the pass decides for weight matrices:
//
//   fp8     parameters that are contracted with an activation: in the forward pass, in the gradient of the activation,
//           and in the contractions that compute the gradient of the matrix
//   not     those whose contraction leads to a softmax, a cross entropy, an exponential or a logarithm, with nothing in
//           between but a bias, a factor, a mask or parts of a stable formula: scores, of which single ones matter.
//           Matrices with one use that `tsr.precision` exempts. Contractions of two activations (an attention). For a
//           GPU: matrices whose dimensions are not multiples of 16
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_FP8PLAN_H
#define TESSERA_PASSES_PRECISION_FP8PLAN_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/SetVector.h"

namespace tessera {

/// What an operand is in the contractions of a weight matrix.
enum class Fp8Role { Weight, Activation, Gradient };

struct Fp8Product {
  ContractOp contract;
  Fp8Role roles[2]; ///< of lhs and rhs
  /// Axes of the repeats that slice the matrix. Its slices are tensors of their own, and so are the other operands.
  llvm::SmallSetVector<llvm::StringRef, 2> stacks;

  bool sumsOver(llvm::StringRef axis) const { return llvm::is_contained(names(ContractOp(contract).getOver()), axis); }
};

/// The value that was quantized to fp8: x of cast(x * scale). Null for other values.
mlir::Value behindQuantization(mlir::Value value);

/// The contractions in program order, the same before and after quantization. Those that compute gradients of matrices
/// are found only while there are updates, which say which gradients belong to parameters.
std::vector<Fp8Product> planFp8(mlir::func::FuncOp step);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_FP8PLAN_H
