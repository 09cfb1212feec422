//===- OnlineSoftmax.h - sums weighted by a softmax, in one sweep -----------===//
//
// The weights of a softmax are exp(x - max) / sum, and max and sum are known after all elements of a row. A sum of
// weighted elements needs no second sweep: it accumulates with exp(x - largest so far), what is accumulated is
// multiplied by exp(old - new) when a larger element comes, and the division by `sum` is done once at the end (Dao et
// al., "FlashAttention", 2022).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_KERNEL_ONLINESOFTMAX_H
#define TESSERA_PASSES_KERNEL_ONLINESOFTMAX_H

#include "passes/kernel/KernelPlan.h"

namespace tessera {

struct OnlineSoftmax {
  mlir::Value x, max;           ///< the elements of a row, and the largest
  mlir::Value exponential, sum; ///< exp(x - max), and their sum
  /// Of each result of the kernel that is a matrix: the row values that all its elements are multiples of and that are
  /// known at the end only.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> factors;

  /// The softmax of a kernel whose element results are all its exponentials times row values, times values that do not
  /// depend on the softmax; none for other kernels.
  static std::optional<OnlineSoftmax> of(const KernelPlan &plan);
};

} // namespace tessera

#endif // TESSERA_PASSES_KERNEL_ONLINESOFTMAX_H
