//===- TilePlan.h - what one launch of a tiled op computes ------------------===//
//
// An analysis: the kernels and contractions of a tiled op, by the lines that a block owns and the other lines
// (TileMapping.h). The writers in this folder follow it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_TILE_TILEPLAN_H
#define TESSERA_CODEGEN_CUDA_TILE_TILEPLAN_H

#include "codegen/cuda/tile/ElementOps.h"
#include "codegen/cuda/tile/TileMapping.h"
#include "passes/tile/TiledLaunches.h"
#include "llvm/ADT/MapVector.h"

namespace tessera::cuda {

/// A kernel of a tiled op. It computes elements of matrices, and values of rows.
struct TileKernel {
  KernelOp op;
  KernelPlan plan;
  ElementOps ops;

  /// The number of the loop over rows; the loop over columns is the next one.
  unsigned rowsLoop() const {
    return plan.loops.isVectorParallel() ? plan.loops.vector - 1 : plan.loops.parallelCount - 1;
  }
  /// Whether a value is the same for all elements of a row.
  bool isRowValue(mlir::Value value) const;
};

/// A value of lines that a kernel reads from memory; it is the same for all elements of a line.
struct LineValue {
  unsigned kernel; ///< its number in the plan
  mlir::Value item;
  bool isOfAllLines; ///< it is the same for all of them
};

/// A contraction of a tiled op, by own and other lines.
struct TileContraction {
  ContractOp op;
  mlir::Value result;
  mlir::Value own;                       ///< the operand that has the own lines; of a sum the matrix
  mlir::Value other;                     ///< the operand that has the other lines
  int64_t extent;                        ///< elements of a line that is no line of a matrix
  TiledStrides ofOwn, ofOther, ofResult; ///< not set for a matrix

  /// Elements along the summed axis that a fragment of an operand holds.
  int64_t depth() const { return tensorType(own).getElementType().isF32() ? 8 : 16; }
};

/// An operand that is read in tiles of other lines, through shared memory.
struct SharedOperand {
  int64_t extent; ///< elements of a line
  TiledStrides strides;
};

struct TilePlan {
  TiledOp op;
  MatrixAxes axes;
  TileMapping mapping;
  std::vector<TileKernel> kernels;
  std::vector<TileContraction> matrices; ///< matrix [own, other] = own operand · other operandᵀ
  std::vector<TileContraction> sums;     ///< sum [own, E] = matrix [own, other] · other operand [other, E]
  llvm::MapVector<mlir::Value, SharedOperand> sharedOperands;
  /// Batch axes: those whose positions have blocks of their own, and those that a block iterates over.
  llvm::SmallVector<AxisAttr> blockAxes, serialAxes;
  std::vector<LineValue> ownValues;   ///< of own lines, or of all; of kernels without reductions
  std::vector<LineValue> otherValues; ///< of other lines
  /// Set if the launch takes one sweep although the weights of its sums depend on sums over rows.
  std::optional<OnlineSoftmax> online;
  bool has64BitIndices = false;

  /// Fails with a message if a kernel has no plan.
  static llvm::FailureOr<TilePlan> of(TiledOp op, const MatrixAxes &axes, const TileMapping &mapping);

  /// The kernel that has reductions; null if none has. A tiled op has at most one.
  const TileKernel *reducingKernel() const;
  bool isMatrix(mlir::Value value) const { return axes.isMatrix(tensorType(value)); }
  AxisAttr ownAxis() const { return mapping.ownsRows ? axes.rows : axes.columns; }
  AxisAttr otherAxis() const { return mapping.ownsRows ? axes.columns : axes.rows; }
  /// Whether this launch writes a result of the tiled op; each result is written by one launch.
  bool writesResult(unsigned number) const;
  /// Whether the last tile along an axis is not full.
  bool hasOwnTail() const { return ownAxis().getSize() % mapping.ownLines != 0; }
  bool hasOtherTail() const { return otherAxis().getSize() % mapping.otherLines != 0; }
  /// The least and the most of other line - own line inside the band.
  std::optional<int64_t> leastDiagonal() const;
  std::optional<int64_t> mostDiagonal() const;
  /// Whether elements are treated differently in tiles that the band's edges cross.
  bool hasMaskedEdges() const;
  /// Whether there are loops of their own for tiles that lie inside the band and are full.
  bool peelsEdges() const;
  /// The factor that the elements of the online softmax are multiplied by.
  double onlineScale() const { return kernels.front().ops.exponentials.lookup(online->exponential).scale; }
  /// Fragments of a matrix in a tile: each has 8 other lines.
  int64_t fragmentsOfTile() const { return mapping.otherLines / 8; }

private:
  llvm::LogicalResult addKernel(KernelOp kernel);
  void addContraction(ContractOp contract);
  void findLineValues();
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_TILE_TILEPLAN_H
