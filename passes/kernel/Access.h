//===- Access.h - the address of an element as a function of the loops ----===//
//
// A kernel reads block arguments at the current point, or through ops that transform indices (slice, pad, rename,
// split, merge, gather). Both are one thing: an offset into the argument, and conditions under which the element exists
// (outside them it is zero). An offset is affine in the loop indices, plus terms that are not: rounded quotients (from
// merged axes) and positions read from index tensors.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_KERNEL_ACCESS_H
#define TESSERA_PASSES_KERNEL_ACCESS_H

#include "ir/dialect/Tsr.h"
#include <memory>

namespace tessera {

struct NonlinearTerm;

/// sum of coefficients[i] · index of loop i + constant + sum of coefficient · term.
struct LinearIndex {
  struct Term {
    int64_t coefficient;
    std::shared_ptr<NonlinearTerm> value;
  };
  llvm::SmallVector<int64_t, 6> coefficients;
  int64_t constant = 0;
  llvm::SmallVector<Term, 1> terms;

  explicit LinearIndex(size_t loops = 0) : coefficients(loops, 0) {}
  /// A copy that shares no terms with this one, times `factor`.
  LinearIndex scaled(int64_t factor) const;
  LinearIndex &operator+=(const LinearIndex &other);
  /// Bit i is set if the expression varies with loop i; `varies` returns the same of a position.
  uint64_t loops(llvm::function_ref<uint64_t(mlir::Value)> varies) const;
  /// Calls `visit` with this expression and those inside its terms.
  void forEach(llvm::function_ref<void(LinearIndex &)> visit);
};

/// Either floor(inner / divisor) mod modulus, or an index tensor's element clamped to [0, extent).
struct NonlinearTerm {
  LinearIndex inner;
  int64_t divisor = 1;
  int64_t modulus = 0; ///< 0: none
  mlir::Value position;
  int64_t extent = 0;
};

/// The condition 0 ≤ expr < extent.
struct IndexCondition {
  LinearIndex expr;
  int64_t extent;
};

/// An element of a kernel operand or result.
struct Access {
  unsigned argument = 0; ///< operands, then results
  mlir::Type element;
  LinearIndex offset; ///< in elements
  llvm::SmallVector<IndexCondition, 1> ranges;

  uint64_t loops(llvm::function_ref<uint64_t(mlir::Value)> varies) const;
  void forEachIndex(llvm::function_ref<void(LinearIndex &)> visit);
};

/// Positions along axes, by name.
using AxisPositions = llvm::StringMap<LinearIndex>;

/// The element of `value` at `positions`, where `value` is a block argument, or one under ops that transform indices.
/// Fails with a message on a computed value.
llvm::FailureOr<Access> resolveAccess(mlir::Value value, const AxisPositions &positions, size_t loops);

/// Row-major offset of `positions` in a tensor of type `type`; or with `strides`, one for each of its axes.
LinearIndex linearize(NamedTensorType type, const AxisPositions &positions, size_t loops);
LinearIndex linearize(NamedTensorType type, const AxisPositions &positions, size_t loops,
                      llvm::ArrayRef<int64_t> strides);

} // namespace tessera

#endif // TESSERA_PASSES_KERNEL_ACCESS_H
