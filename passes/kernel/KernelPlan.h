//===- KernelPlan.h - loops, stages and addresses of a kernel -------------===//
//
// Planning changes nothing: it reads a `tsr.kernel` and determines which loops its code has, which values each reads
// from where, and after which sweep over the serial loops each value is known. The emitter follows the plan.
//
//  1. There is one loop for each axis, parallel ones first, the vector axis last of its kind. Axes of size 1 need none.
//  2. Adjacent loops are collapsed where every address is affine in the collapsed index.
//  3. A value's loops are those along which it varies. It is computed outside the others.
//  4. A value's stage is the number of sweeps that must be complete before it is known.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_KERNEL_KERNELPLAN_H
#define TESSERA_PASSES_KERNEL_KERNELPLAN_H

#include "passes/kernel/Access.h"

namespace tessera {

/// How a kernel's arguments are stored where it runs for a range of rows and columns inside a tiled op.
struct RowsPlacement {
  /// For each operand, then each result: the strides of its axes, in elements; empty: those of its type.
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides;
  bool separatesRows = false; ///< the loop outside the columns, which are the vector loop, is not collapsed with others
};

/// The lanes over which a sum along the vector axis is distributed, whatever the processor, so that its order does not
/// depend on it. There are fewer where a range of columns may run: ranges begin and end at multiples of them.
inline constexpr int64_t reductionLanes = 64, columnStep = 32;

/// The loops of a kernel, outermost first; the parallel ones come first.
struct LoopNest {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<std::string> names; ///< the axis, or those that were collapsed ("batch_seq")
  unsigned parallelCount = 0;
  int vector = -1; ///< the loop that is vectorised, the last of its kind; -1: scalar code

  bool hasSerial() const { return parallelCount < sizes.size(); }
  uint64_t parallelMask() const { return (uint64_t(1) << parallelCount) - 1; }
  uint64_t vectorMask() const { return vector < 0 ? 0 : uint64_t(1) << vector; }
  bool isVector(unsigned loop) const { return static_cast<int>(loop) == vector; }
  bool isVectorParallel() const { return vector >= 0 && static_cast<unsigned>(vector) < parallelCount; }
  bool isVectorSerial() const { return vector >= 0 && !isVectorParallel(); }
};

struct KernelPlan {
  KernelOp kernel;
  bool runsByRows = false; ///< for a range of rows and columns at a time, inside a tiled op
  LoopNest loops;
  /// What is computed, operands before their users: operands that are read at the current point, then the values of
  /// the region.
  llvm::SmallVector<mlir::Value> items;
  llvm::DenseMap<mlir::Value, Access> reads;                ///< items that are read from memory
  llvm::DenseMap<mlir::Operation *, LinearIndex> positions; ///< the element's index, for `index` and `random`
  std::vector<Access> writes;                               ///< one a result
  llvm::DenseMap<mlir::Value, uint64_t> varies;             ///< bit i: along loop i
  llvm::DenseMap<mlir::Value, unsigned> stages;
  unsigned sweeps = 0; ///< over the serial loops
  /// Online softmax: sums of exp(x - max of x), computed in the sweep that finds the maximum. Sum → maximum.
  llvm::DenseMap<mlir::Value, mlir::Value> softmaxSums;
  llvm::SmallVector<bool> mayAliasResult; ///< for each operand: whether a result may share its storage
  ScatterAddOp scatter;                   ///< of a kernel of rule 4 (docs/ir.md, Kernels); else null

  int64_t sumLanes() const { return runsByRows ? columnStep : reductionLanes; }
  bool variesAlongVector(mlir::Value item) const { return varies.lookup(item) & loops.vectorMask(); }
  bool isElementResult(unsigned result) const;
  bool isSoftmaxSum(mlir::Value value) const { return softmaxSums.contains(value); }
  /// The sum that is computed together with this maximum; null if there is none.
  mlir::Value softmaxSumOf(mlir::Value max) const;
  YieldOp yield() const {
    KernelOp op = kernel;
    return llvm::cast<YieldOp>(op.getBlock().getTerminator());
  }
};

/// Plans a kernel. Fails with a message if it breaks the rules of docs/ir.md. With a placement the vector loop, of
/// which a range may run, is not collapsed with the rows outside it. `onlineSoftmax`: one sweep finds a maximum and the
/// sum of exponentials below it; it corrects the sum whenever it finds a larger value (Milakov and Gimelshein, "Online
/// normalizer calculation for softmax", 2018).
llvm::FailureOr<KernelPlan> planKernel(KernelOp kernel, const RowsPlacement *placement = nullptr,
                                       bool onlineSoftmax = false);

/// What is computed in one sweep over the serial loops.
struct Sweep {
  unsigned number; ///< from 1
  llvm::SmallVector<ReduceOp> reduces;
  bool writesElements; ///< only the last sweep does
  llvm::SmallPtrSet<mlir::Value, 16> needed;
};

/// The reductions of a stage, in the last sweep also the element results, and all that they need and that is not known
/// yet.
Sweep planSweep(const KernelPlan &plan, unsigned number, llvm::function_ref<bool(mlir::Value)> isKnown);

} // namespace tessera

#endif // TESSERA_PASSES_KERNEL_KERNELPLAN_H
