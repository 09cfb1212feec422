//===- Launches.h - ops that one launch runs -------------------------------===//
//
// On a GPU a launch takes some microseconds, which is more than most small kernels do. So kernels of a block that do not depend
// on one another are put next to each other and marked with one number, `tsr.launch`: they run at one moment. (On a CPU contractions
// are, see Merges.h.)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAUNCH_LAUNCHES_H
#define TESSERA_PASSES_LAUNCH_LAUNCHES_H

#include "passes/analysis/LaunchGroups.h"

namespace tessera {

/// Pointers that a launch is given at most: 4 KiB of parameters.
inline constexpr int64_t mostPointers = 512;

/// What may live longer where kernels are moved.
struct MemoryRoom {
  int64_t slack = 0;                               ///< bytes that need no room
  llvm::DenseMap<mlir::Operation *, int64_t> room; ///< at each op: bytes below the fullest moment
};

/// Forms launches in all blocks of a function's body, moving kernels. `isGood` is asked about the function each time that kernels
/// have moved; what it refuses is undone. Returns the number of kernels that run in the launch of another.
unsigned formLaunches(mlir::func::FuncOp function, const MemoryRoom &memory, llvm::function_ref<bool()> isGood);

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
