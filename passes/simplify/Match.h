//===- Match.h - matchers of open-coded mathematics -----------------------===//
//
// The matchers recognise the usual spellings: commuted sums and products, guards for rows that are masked throughout.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_SIMPLIFY_MATCH_H
#define TESSERA_PASSES_SIMPLIFY_MATCH_H

#include "passes/simplify/Patterns.h"

namespace tessera {

/// Operands of a commutative op in both orders, for `for (auto [a, b] : bothOrders(add))`.
template <typename OpT> std::array<std::pair<mlir::Value, mlir::Value>, 2> bothOrders(OpT op) {
  return {std::pair(mlir::Value(op.getLhs()), mlir::Value(op.getRhs())),
          std::pair(mlir::Value(op.getRhs()), mlir::Value(op.getLhs()))};
}

/// The value that a guard lets pass: for `where(v == special, other, v)`, in any spelling, `v`, unless the guard brings
/// more axes; else `value` itself.
mlir::Value withoutGuard(mlir::Value value, double special);

/// `x` and the axes, for a reduction of that kind.
struct MatchedReduction {
  mlir::Value x;
  llvm::SmallVector<llvm::StringRef> over;
};
std::optional<MatchedReduction> matchReduction(mlir::Value value, ReduceKind kind);

/// A mean: the sum times 1 / count.
std::optional<MatchedReduction> matchMean(mlir::Value value);

/// exp(x - shift) summed over one axis, where shift is constant along the axis; `shift` is null for a plain exp(x).
struct ExponentialSum {
  mlir::Value exponentials, x, shift;
  llvm::StringRef axis;
};
std::optional<ExponentialSum> matchExponentialSum(mlir::Value value);

} // namespace tessera

#endif // TESSERA_PASSES_SIMPLIFY_MATCH_H
