//===- PrecisionPlan.h - which values have the low-precision type ------------------===//
//
// A value has the low-precision type if it is an activation, or the gradient of one, and is stored in memory. Then all
// of its users read the rounded value, even those in the kernel that computes it. So results do not depend on how ops
// are fused, and the backward pass reads the values that the forward pass read.
//
// Values in f32:
//
//   statistics   what follows from reductions, constants, parameters and data by elementwise ops: means, log-sum-exps,
//                rates. There is one for each row, and its rounding error would affect the whole row. A reduction of
//                one element is none
//   gradients    of parameters, where they are sums: over micro-batches, over the uses of a parameter, over the rows of
//                a batch. One that a single contraction computes is treated like the gradient of an activation. All are
//                f32 where `tsr.precision` exempts `tsr.clip`
//   state        what the function returns as the next value of a state, also inside the repeats that stack it, and
//                the terms of the sum that it is: a contraction that is added to a state has an f32 result
//   exempt       results of ops that `tsr.precision` exempts
//   sensitive    results of contractions from which only exponentials and logarithms follow (the scores of an attention
//                in the backward pass): 8 mantissa bits would change a probability by percents
//   sums         of contractions, and a contraction's result before a bias: the sum is rounded
//   internal     values that only ops of the same kernel read: they are never stored
//
// Kernels are formed later, so whether a value is stored is estimated by levels: the number of contractions (and
// gathers, repeats) that a value follows. Elementwise ops and reductions of one level can be one kernel. A value that
// an op of a higher level reads is stored, unless it follows from arguments alone and can be recomputed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_PRECISIONPLAN_H
#define TESSERA_PASSES_PRECISION_PRECISIONPLAN_H

#include "ir/program/Program.h"

namespace tessera {

class PrecisionPlan {
public:
  explicit PrecisionPlan(mlir::func::FuncOp function);

  /// Whether the value has the low-precision type.
  bool isReduced(mlir::Value value);
  /// Whether the producer of a low-precision value computes it in that type: a contraction, an attention, a repeat, a
  /// change of shape. Otherwise its result must be cast.
  bool isComputedReduced(mlir::Value value);
  /// Whether an operand is read in the low-precision type if its value has it.
  bool acceptsReduced(mlir::OpOperand &use);
  /// Whether an operand must have the low-precision type.
  bool needsReduced(mlir::OpOperand &use);

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using Values = llvm::DenseSet<Value>;

  void findActivations(mlir::func::FuncOp function);
  void findSumsOfGradients(mlir::func::FuncOp function);
  void findNewState(mlir::func::FuncOp function);
  void findLevels(mlir::Block &block);
  void findSensitiveOps(mlir::Block &block);

  bool decide(Value value);
  bool decideResultOfProduct(mlir::OpResult result);
  bool isRoundingSensitive(Value product);
  bool isPartOfSum(Value product);
  bool liesInMemory(Value value);
  bool isCarriedReduced(RepeatOp repeat, unsigned number);
  bool isYieldedReduced(YieldOp yield, unsigned number);
  bool isExempt(Value value);

  Values activations, sumsOfGradients, newState;
  llvm::DenseMap<Value, int> levels;
  llvm::DenseSet<Operation *> sensitiveOps; ///< that lead only to, or follow from, exponentials and logarithms
  llvm::DenseMap<Value, bool> decided;
  llvm::DenseSet<Operation *> reducedGathers; ///< whose results have the type of the table
};

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_PRECISIONPLAN_H
