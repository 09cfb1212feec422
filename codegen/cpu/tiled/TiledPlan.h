//===- TiledPlan.h - how a tiled op runs and what it keeps ----------------===//
//
// One call of the generated function computes, for some positions of the parallel batch axes,
//
//   results that sum over rows: 0
//   for position of the serial batch axes
//     pack what every block of rows reads whole (keys and values of a head)
//     for block of rows
//       for step: a contraction by register tiles, or a kernel's loops over the block's rows
//
// A thread's scratch memory holds
//
//   zeros     a row that products start from
//   packed    the operands packed above, one behind the other
//   block     an operand packed for one block of rows
//   matrix    the block's rows of a matrix of a low type, packed where they are no panel as they lie
//   sums      of results of a low type, which take their sums when they are complete
//   slots     the block's rows of the matrices, and of row values that no one else reads. A row of a matrix is longer than its
//             columns, so that rows do not meet in the same lines of a cache.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H
#define TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/contraction/MatrixFunctions.h"
#include "passes/tile/TiledContraction.h"

namespace tessera {

/// A contraction or a kernel in the order in which they run.
struct TiledStep {
  mlir::Operation *op;
  std::optional<TiledContraction> part; ///< of a contraction
  RegisterTile tile;
  /// Whether the operand that lies in memory by rows (x of a maker, y of a sum over rows) is packed for each block; else it is
  /// read where it is.
  bool packsRows = false;
  bool packsMatrix = false; ///< the operand that is a matrix
  PanelFormat format;       ///< of a contraction's operands
  ElementType resultType = ElementType::F32;
  int64_t packed = 0; ///< where operand y that all blocks read starts in scratch, in bytes
  int64_t sums = -1;  ///< where the sums of a low result stand in scratch, in bytes; -1: in the result
};

/// Values of one row of the batch that the op makes and reads itself.
struct TiledSlot {
  int64_t offset;    ///< in scratch, in bytes
  int64_t rowStride; ///< in elements
};

struct TiledPlan {
  TiledOp op;
  MatrixAxes axes;
  llvm::SmallVector<unsigned> parallel, serial; ///< axes of the batch, outermost first
  int64_t rows, columns;
  unsigned lanes;    ///< f32 numbers in a vector
  int64_t zeros = 0; ///< numbers in the row of zeros: those of the widest tile
  int64_t blockRows = 0;
  llvm::SmallVector<TiledStep> steps;
  llvm::DenseMap<mlir::Value, TiledSlot> slots;
  int64_t blockOffset = 0, matrixOffset = 0; ///< of what is packed for a block of rows
  /// Threads share the blocks of one position too where positions are few: every group takes each `groups`th block.
  int64_t groups = 1;
  WorkSharing sharing;
  int64_t scratchBytes = 0;

  TiledPlan(TiledOp op, const MatrixAxes &axes, const CpuTarget &target);

  /// Numbers from one row of sums to the next.
  static int64_t sumStride(const TiledStep &step) { return llvm::alignTo(step.part->extent, step.tile.lanes); }
  /// Axes of the serial batch that the step's result has.
  llvm::SmallVector<unsigned> ownSerial(const TiledStep &step) const;
  int64_t blocks() const { return llvm::divideCeil(rows, blockRows); }
  bool isBand() { return op.getLower().has_value() || op.getUpper().has_value(); }
  /// Lengths of the blocks: whole ones and the last.
  llvm::SmallVector<int64_t> blockLengths() const {
    return {std::min(blockRows, rows), rows - (blocks() - 1) * blockRows};
  }

private:
  void planSteps(const CpuTarget &target);
  void chooseBlock();
  void placePacked();
  void placeSums();
  void placeSlots();
  int64_t slotToTakeOver(mlir::OpResult result) const;
  bool diesIn(mlir::Value value, mlir::Operation *op) const;
  /// Whether a result of the step already lies at an offset of the scratch memory.
  bool holdsResultOf(mlir::Operation *op, int64_t offset) const;
  void shareWork();
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H
