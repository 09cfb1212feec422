//===- OneSweep.h - sums weighted by a softmax, in one sweep ----------------===//
//
// The weights of a softmax are exp(x - max) / sum, whose max and sum are known when all of a row has been seen. Sums of
// something times weights need no second sweep: exp(x - the largest so far) is summed up instead, what has been summed
// up is multiplied by exp(old - new) where a larger number comes, and the division by `sum` is done once at the end
// (Dao et al., "FlashAttention", 2022).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_ONESWEEP_H
#define TESSERA_CODEGEN_CUDA_ONESWEEP_H

#include "passes/kernel/KernelPlan.h"

namespace tessera::cuda {

struct OneSweep {
  mlir::Value x, max;           ///< the numbers of a row, and the largest
  mlir::Value exponential, sum; ///< exp(x - max), and their sum
  /// Of each result of the kernel that is a matrix: values of the row that all its elements are multiples of, known at
  /// the end.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> factors;

  /// Whether every matrix that the kernel makes is the exponentials times what does not depend on them, times values of
  /// the row.
  static std::optional<OneSweep> of(const KernelPlan &plan);
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_ONESWEEP_H
