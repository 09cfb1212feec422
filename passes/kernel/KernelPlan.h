//===- KernelPlan.h - loops, stages and addresses of a kernel -------------===//
//
// Planning changes nothing: it looks at a `tsr.kernel` and says which loops its
// code has, which values each reads from where, and in which sweep over the
// serial loops each value is known. The emitter follows the plan.
//
//  1. One loop for each axis, parallel ones first, the vector axis last of its
//     kind. Axes of size 1 need none.
//  2. Neighbouring loops along which every address moves as along one become one.
//  3. A value's loops are those it varies along, so that it is computed outside the others.
//  4. A value's stage is the number of sweeps that must be over before it is known.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_KERNEL_KERNELPLAN_H
#define TESSERA_PASSES_KERNEL_KERNELPLAN_H

#include "passes/kernel/Access.h"

namespace tessera {

/// How a kernel's arguments lie where it runs for some rows and columns inside a tiled op.
struct RowsPlacement {
  /// For each operand, then each result: the strides of its axes, in elements; empty: those of its type.
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides;
  bool keepsRows = false; ///< the loop outside the columns, which are the vector loop, stays a loop of its own
};

/// Lanes over which a sum along the vector axis is spread, whatever the processor, so that its order does not depend on
/// it. Where a part of the columns may run there are fewer: parts begin and end at multiples of them.
inline constexpr int64_t reductionLanes = 64, columnStep = 32;

struct KernelPlan {
  KernelOp kernel;
  bool runsByRows = false;          ///< for some rows and columns at a time, inside a tiled op
  llvm::SmallVector<int64_t> sizes; ///< of the loops, outermost first
  /// Of the loops: the axis, or those that were merged ("batch_seq").
  llvm::SmallVector<std::string> loopNames;
  unsigned parallelLoops = 0; ///< the first so many loops
  int vectorLoop = -1;        ///< the last of its kind; -1: scalar code
  /// What is computed, in an order in which operands come first: operands read at the current point, then the values of
  /// the region.
  llvm::SmallVector<mlir::Value> items;
  llvm::DenseMap<mlir::Value, Access> reads;                ///< items that are read from memory
  llvm::DenseMap<mlir::Operation *, LinearIndex> positions; ///< element number for `index` and `random`
  std::vector<Access> writes;                               ///< one a result
  llvm::DenseMap<mlir::Value, uint64_t> varies;             ///< bit i: along loop i
  llvm::DenseMap<mlir::Value, unsigned> stages;
  unsigned sweeps = 0; ///< over the serial loops
  /// Sums of exp(x - max of x), computed in the sweep that finds the largest: by the sum's value the maximum's.
  llvm::DenseMap<mlir::Value, mlir::Value> softmaxSums;
  llvm::SmallVector<bool> mayAliasResult; ///< for each operand: whether a result may take its storage
  /// A kernel of rule 4 (docs/ir.md), if it is one.
  ScatterAddOp scatter;

  int64_t sumLanes() const { return runsByRows ? columnStep : reductionLanes; }
  uint64_t parallelMask() const { return (uint64_t(1) << parallelLoops) - 1; }
  uint64_t vectorMask() const { return vectorLoop < 0 ? 0 : uint64_t(1) << vectorLoop; }
  bool isVectorParallel() const { return vectorLoop >= 0 && static_cast<unsigned>(vectorLoop) < parallelLoops; }
  bool isVectorSerial() const { return vectorLoop >= 0 && !isVectorParallel(); }
  bool isElementResult(unsigned result) const;
  bool isSoftmaxSum(mlir::Value value) const { return softmaxSums.contains(value); }
  /// The sum that is computed with this maximum; null if there is none.
  mlir::Value softmaxSumOf(mlir::Value max) const;
  YieldOp yield() const {
    KernelOp op = kernel;
    return llvm::cast<YieldOp>(op.getBlock().getTerminator());
  }
};

/// Plans a kernel; fails with a message where it is none that docs/ir.md describes. With a placement the vector loop,
/// of which a part may run, stays a loop of its own, and so do the rows outside it. `joinsSoftmax`: a maximum and the
/// sum of exponentials below it are found in one sweep, which corrects the sum where it finds a larger number (Milakov
/// and Gimelshein, "Online normalizer calculation for softmax", 2018).
llvm::FailureOr<KernelPlan> planKernel(KernelOp kernel, const RowsPlacement *placement = nullptr,
                                       bool joinsSoftmax = false);

/// What is computed in one sweep over the serial loops.
struct Sweep {
  unsigned number; ///< from 1
  llvm::SmallVector<ReduceOp> reduces;
  bool writesElements; ///< the last one does
  llvm::SmallPtrSet<mlir::Value, 16> needed;
};

/// The reductions of a stage, in the last sweep also the element results, and all they need of what is not known
/// before.
Sweep planSweep(const KernelPlan &plan, unsigned number, llvm::function_ref<bool(mlir::Value)> isKnown);

} // namespace tessera

#endif // TESSERA_PASSES_KERNEL_KERNELPLAN_H
