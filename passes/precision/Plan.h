//===- Plan.h - which values have a low type --------------------------------===//
//
// A value is low if it is an activation, or the gradient of one, and lies in memory. It is then low for everybody: who reads
// it where it was made reads the rounded number too. What is computed does not depend on how ops are fused, and the backward
// pass sees the numbers that the forward pass saw.
//
// Values in f32:
//
//   statistics   what follows from reductions, constants, parameters and data by elementwise ops: means, log-sum-exps, rates. Of
//                a row there is one, and its rounding would be that of all the row
//   gradients    of parameters, where they are sums: over micro-batches, over the uses of a parameter, of a batch's rows. One
//                that a single contraction gives is an activation's gradient like others; all are f32 where `tsr.clip` is kept
//   kept         results of ops that the user keeps in f32
//   steep        results of contractions from which only exponentials and logarithms follow (the scores of an attention in the
//                backward pass): rounding them to 8 bits would change a probability by percents
//   sums         of contractions, and a contraction's result before a bias: the sum is rounded
//   passing      what only ops of the same kernel read: it never lies in memory
//
// Kernels are made later, so what lies in memory is told by levels: the number of contractions (and gathers, repeats) that a
// value follows. Elementwise ops and reductions of one level can be one kernel; a value that one of a higher level reads
// lies in memory in between, unless it follows from arguments alone and can be computed anew.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_PRECISION_PLAN_H
#define TESSERA_PASSES_PRECISION_PLAN_H

#include "ir/program/Program.h"

namespace tessera {

class PrecisionPlan {
public:
  explicit PrecisionPlan(mlir::func::FuncOp function);

  /// Whether the value has the low type.
  bool isLow(mlir::Value value);
  /// Whether the op that a low value comes from gives it in that type by itself: a contraction, an attention, a repeat, a move.
  /// Else its result must be cast.
  bool isMadeLow(mlir::Value value);
  /// Whether an operand is taken in the low type if its value is low.
  bool takesLow(mlir::OpOperand &use);
  /// Whether an operand must have the low type.
  bool wantsLow(mlir::OpOperand &use);

private:
  using Value = mlir::Value;
  using Operation = mlir::Operation;
  using Values = llvm::DenseSet<Value>;

  void findActivations(mlir::func::FuncOp function);
  void findSumsOfGradients(mlir::func::FuncOp function);
  void findLevels(mlir::Block &block);
  void findSensitiveOps(mlir::Block &block);

  bool decide(Value value);
  bool decideResultOfProduct(mlir::OpResult result);
  bool isRoundingSensitive(Value product);
  bool isPartOfSum(Value product);
  bool liesInMemory(Value value);
  bool isCarriedLow(RepeatOp repeat, unsigned number);
  bool isYieldedLow(YieldOp yield, unsigned number);
  bool isExempt(Value value);

  Values activations, sumsOfGradients;
  llvm::DenseMap<Value, int> levels;
  llvm::DenseSet<Operation *>
      sensitiveOps; ///< from which, or before which, nothing but exponentials and logarithms is computed
  llvm::DenseMap<Value, bool> decided;
  llvm::DenseSet<Operation *> gathersOfLow; ///< which give numbers in the type that they lie in
};

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_PLAN_H
