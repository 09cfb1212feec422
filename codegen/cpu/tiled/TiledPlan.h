//===- TiledPlan.h - stages and scratch memory of a tiled op --------------===//
//
// One iteration of the generated function computes, for one position along the parallel batch axes,
//
//   set results that sum over rows to 0
//   for position along the serial batch axes
//     pack the operands that every block of rows reads whole (keys and values of an attention head)
//     for block of rows
//       for stage: a contraction by micro-kernels, or a kernel's loops over the rows of the block
//
// The scratch memory of a thread has
//
//   zeros     a row that micro-kernels add
//   packed    the operands packed above, one after the other
//   block     an operand packed for one block of rows
//   matrix    the block's rows of a low-precision matrix, if they must be packed
//   sums      f32 sums for low-precision results, which are written when they are complete
//   slots     the block's rows of the matrices, and of row values that only the op itself reads. Rows of a matrix are
//             padded, to prevent conflict misses.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H
#define TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/contraction/MatrixFunctions.h"
#include "passes/tile/TiledContraction.h"

namespace tessera {

/// A contraction or a kernel, in the order in which they run.
struct TiledStage {
  mlir::Operation *op;
  std::optional<TiledContraction> contraction; ///< none: a kernel
  RegisterTile tile;
  /// Whether the operand that is in memory by rows (x if the matrix is computed, y of a sum over rows) is packed for
  /// each block; else it is read in place.
  bool packsRows = false;
  bool packsMatrix = false; ///< whether the operand that is a matrix is packed for each block
  PanelFormat format;       ///< of the operands of a contraction
  ElementType resultType = ElementType::F32;
  int64_t packed = 0; ///< offset of operand y, which all blocks read, in the scratch memory, in bytes
  int64_t sums = -1;  ///< offset of the sums of a low-precision result, in bytes; -1: the result holds them

  bool is(TiledRole role) const { return contraction && contraction->role == role; }
};

/// The rows of one block of a value that the op computes and reads itself.
struct TiledSlot {
  int64_t offset;    ///< in the scratch memory, in bytes
  int64_t rowStride; ///< in elements
};

/// The scratch memory of a thread.
struct TiledScratch {
  int64_t bytes = 0;
  int64_t blockOffset = 0, matrixOffset = 0; ///< of what is packed for a block of rows
};

struct TiledPlan {
  TiledOp op;
  MatrixAxes axes;
  llvm::SmallVector<unsigned> parallel, serial; ///< the batch axes, outermost first
  int64_t rows, columns;
  unsigned lanes;    ///< of an f32 vector
  int64_t zeros = 0; ///< elements in the row of zeros: the columns of the widest tile
  int64_t blockRows = 0;
  llvm::SmallVector<TiledStage> stages;
  llvm::DenseMap<mlir::Value, TiledSlot> slots;
  /// Where there are few positions, threads share the blocks of one position too: group g computes every `groups`th
  /// block from block g on.
  int64_t groups = 1;
  WorkSharing sharing;
  TiledScratch scratch;

  TiledPlan(TiledOp op, const MatrixAxes &axes, const CpuTarget &target);

  /// Elements from one row of sums to the next.
  static int64_t sumStride(const TiledStage &stage) {
    return llvm::alignTo(stage.contraction->extent, stage.tile.lanes);
  }
  /// The serial axes that the result of a stage has.
  llvm::SmallVector<unsigned> serialAxesOf(const TiledStage &stage) const;
  int64_t blocks() const { return llvm::divideCeil(rows, blockRows); }
  bool isBand() { return op.getLower().has_value() || op.getUpper().has_value(); }
  /// Lengths of the blocks: whole ones and the last.
  llvm::SmallVector<int64_t> blockLengths() const {
    return {std::min(blockRows, rows), rows - (blocks() - 1) * blockRows};
  }

private:
  void planStages(const CpuTarget &target);
  void chooseBlock();
  void placePacked();
  void placeSums();
  void placeSlots();
  int64_t slotToReuse(mlir::OpResult result) const;
  /// Whether `op` is the last stage that reads a value.
  bool isLastRead(mlir::Value value, mlir::Operation *op) const;
  /// Whether a result of `op` has the slot at an offset.
  bool isSlotOfResult(mlir::Operation *op, int64_t offset) const;
  void shareWork();
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_TILED_TILEDPLAN_H
