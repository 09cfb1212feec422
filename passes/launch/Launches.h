//===- Launches.h - horizontal fusion of kernels --------------------------===//
//
// On a GPU a launch takes some microseconds, longer than most small kernels run. So independent kernels of a block are
// moved next to each other and marked with one number, `tsr.group`: one launch computes them. (On a CPU GEMMs are
// fused, see HorizontalGemms.h.)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_LAUNCHES_H
#define TESSERA_PASSES_LAUNCH_LAUNCHES_H

#include "ir/program/Target.h"
#include "passes/analysis/LaunchGroups.h"

namespace tessera {

/// Pointers that a launch has as arguments at most: 4 KiB of parameters.
inline constexpr int64_t mostPointers = 512;

/// By how much moving kernels may prolong lifetimes.
struct MemoryRoom {
  int64_t slack = 0;                               ///< bytes that are always allowed
  llvm::DenseMap<mlir::Operation *, int64_t> room; ///< at each op: bytes below peak live memory
};

/// Fuses kernels in all blocks of a function's body, moving them. After each move `isGood` judges the function; what it
/// rejects is undone. Returns the number of launches saved.
unsigned formLaunches(mlir::func::FuncOp function, const MemoryRoom &memory, llvm::function_ref<bool()> isGood);

/// Divides launches that the target cannot run as one, and numbers all launches in their order. Returns by how many
/// fewer kernels run in the launch of another.
unsigned splitLaunches(mlir::func::FuncOp function, const Target &target);

/// The order of the ops in all blocks of a function's body, without launches.
class OpOrder {
public:
  explicit OpOrder(mlir::func::FuncOp function);
  void restore() const;

private:
  std::vector<std::pair<mlir::Block *, llvm::SmallVector<mlir::Operation *>>> blocks;
};

} // namespace tessera

#endif // TESSERA_PASSES_LAUNCH_LAUNCHES_H
