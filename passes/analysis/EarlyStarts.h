//===- EarlyStarts.h - exchanges that start an iteration early ------------===//
//
// In a repeat, an exchange whose start has the mark `tsr.early` runs beside the iteration before its own:
//
//   before the repeat, or earlier in its block       the starts of the first iteration: the *prologue*
//   in each iteration but the last, behind the op    the start of the next iteration
//   that is the last to read what it received
//
// The dataflow of the IR is not changed by that: where the start is in its block, nothing runs. It sends a view of a
// slice or of an invariant, which is the same at both moments, and what it receives has a place of its own from the
// prologue to the end of the repeat.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_EARLYSTARTS_H
#define TESSERA_PASSES_ANALYSIS_EARLYSTARTS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether a start is in a repeat and has the mark `tsr.early`, or `tsr.late`.
bool isEarly(StartOp start);
bool isLate(StartOp start);

/// The `tsr.wait` of an exchange, which has one.
WaitOp waitOf(StartOp start);

/// The argument of the repeat around it that an exchange sends, or sends a view of, if it is a slice or an invariant;
/// null otherwise.
mlir::BlockArgument sentArgument(StartOp start);

/// The views that lead from a value in memory to what an exchange sends, in order.
llvm::SmallVector<mlir::Operation *> viewsOfSent(StartOp start);

/// Where the early starts of a function run, as the order of its ops is now.
class EarlyStarts {
public:
  explicit EarlyStarts(mlir::func::FuncOp function);

  /// Those in the body of a repeat, in order.
  llvm::ArrayRef<StartOp> in(RepeatOp repeat) const { return listOf(inRepeats, repeat); }
  /// Those of the next iteration that run behind an op: the first one of its launch.
  llvm::ArrayRef<StartOp> behind(mlir::Operation *op) const { return listOf(behindOps, op); }
  /// The repeats whose prologue is right before an op: the first one of its launch.
  llvm::ArrayRef<RepeatOp> prologuesBefore(mlir::Operation *op) const { return listOf(prologues, op); }
  /// The op before which the prologue of a repeat is; null if the repeat has no early starts.
  mlir::Operation *prologueOf(RepeatOp repeat) const { return prologueOps.lookup(repeat); }

private:
  template <typename T> using Lists = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<T, 1>>;
  template <typename T> static llvm::ArrayRef<T> listOf(const Lists<T> &lists, mlir::Operation *op) {
    auto found = lists.find(op);
    return found == lists.end() ? llvm::ArrayRef<T>() : llvm::ArrayRef<T>(found->second);
  }
  void visit(mlir::Block &block);

  Lists<StartOp> inRepeats, behindOps;
  Lists<RepeatOp> prologues;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> prologueOps;
};

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_EARLYSTARTS_H
