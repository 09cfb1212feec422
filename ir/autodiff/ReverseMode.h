//===- ReverseMode.h - gradients of a sequence of ops ---------------------===//
//
// The engine of reverse-mode differentiation: `differentiate` runs it over the
// block of a `tsr.gradient`, the adjoint of `repeat` over a body, the adjoint
// of `attention` over the score region. It asks ops for their
// AdjointOpInterface; ops without it are constants.
//
// Varied values depend on a value whose gradient is wanted; useful values are
// those that a value with a gradient depends on; active values are both.
//
// A gradient is *masked* if all of it comes through sides of selects: it is 0 where
// none of them is taken. There it must stay 0, whatever it is multiplied with.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_AUTODIFF_REVERSEMODE_H
#define TESSERA_IR_AUTODIFF_REVERSEMODE_H

#include "ir/autodiff/NonFinite.h"

namespace tessera {

/// A set of values. Membership only: never iterated over, so hash order decides nothing.
using ValueSet = llvm::DenseSet<mlir::Value>;

// Activity, in the usual terms: a value is *varied* if it depends on an input of the differentiation, *useful* if an
// output depends on it, and active if both hold. Dependence is through differentiable ops and float values only.

/// Adds to `varied` every value of `ops` (in program order) that depends on a value in it.
void addVaried(llvm::ArrayRef<mlir::Operation *> ops, ValueSet &varied);

/// Adds to `useful` every operand of `ops` on which a value in it depends.
void addUseful(llvm::ArrayRef<mlir::Operation *> ops, ValueSet &useful);

/// Whether the gradients of an op's operands are 0 where that of its result is (of a reduction: of the result that an
/// element belongs to), as long as no factor is infinite or NaN. Contractions, composites and repeats mix elements.
bool passesZeros(mlir::Operation *op);

/// The varied region arguments and values of a repeat's body, where `isOperandVaried` names the varied operands: a
/// fixed point over the carried values.
ValueSet variedInRepeat(RepeatOp repeat, llvm::function_ref<bool(unsigned)> isOperandVaried);

/// The useful region arguments and values of the body, where `isResultUseful` names the useful results.
ValueSet usefulInRepeat(RepeatOp repeat, llvm::function_ref<bool(unsigned)> isResultUseful);

/// The ops of a block without its terminator, in program order.
llvm::SmallVector<mlir::Operation *> opsOf(mlir::Block &block);

/// Propagates gradients from the last op of a sequence to the first. Adjoint ops are built at the builder's insertion
/// point.
class ReverseMode {
public:
  /// Computes gradients with respect to `wrt`. Values that depend on none of them get none.
  ReverseMode(GraphBuilder &builder, llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange wrt);

  /// Adds to the gradient of a value; ignored where the value is not varied.
  void accumulate(mlir::Value value, mlir::Value gradient, bool isMasked = false);

  /// Has a value count as finite, whatever it is computed from.
  void assumeFinite(mlir::Value value) { nonFinite.exclude(value); }

  /// Visits every op that has a gradient to pass on. Call once, after `accumulate` for the outputs.
  void run();

  /// The gradient of the `i`th value of `wrt`; null if no gradient was accumulated.
  mlir::Value getGradient(unsigned i) const { return found[i]; }

private:
  struct Gradient {
    mlir::Value sum;
    bool isMasked = true; ///< so are all its parts
  };

  void visit(mlir::Operation *op);
  llvm::SmallVector<Gradient> takeGradients(mlir::Operation *op);
  mlir::Value keepZeros(mlir::Value gradient, mlir::Value ofResult);

  GraphBuilder &builder;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> wrt;
  llvm::SmallVector<mlir::Value> found;
  ValueSet varied;
  NonFiniteValues nonFinite;
  llvm::DenseMap<mlir::Value, Gradient> gradients;
};

/// `index` moved into [0, size); itself where it is known to be there.
mlir::Value clampIndex(GraphBuilder &builder, mlir::Value index, int64_t size);

} // namespace tessera

#endif // TESSERA_IR_AUTODIFF_REVERSEMODE_H
