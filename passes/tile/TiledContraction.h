//===- TiledContraction.h - contractions inside tiled ops -----------------===//
//
// A tiled op computes a block of rows of a matrix M [batch…, rows, columns] at a time. With E for all axes that are
// neither batch axes nor rows nor columns, a contraction in it can
//
//   compute M          M [rows, columns] = x [rows, E] · y [columns, E]    the scores q · k of an attention
//   sum over columns   r [rows, E] = M [rows, columns] · y [columns, E]    p · v, dq = ds · k
//   sum over rows      r [columns, E] += M [rows, columns] · y [rows, E]   dv = p · do, dk = ds · q
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_TILE_TILEDCONTRACTION_H
#define TESSERA_PASSES_TILE_TILEDCONTRACTION_H

#include "ir/dialect/Tsr.h"
#include <optional>

namespace tessera {

/// The axes of the matrices of a tiled op.
struct MatrixAxes {
  llvm::SmallVector<AxisAttr> batch; ///< outermost first
  AxisAttr rows, columns;

  /// The axes of a value of type [batch…, rows, columns].
  static MatrixAxes of(NamedTensorType matrix);
  /// The axes of the matrices of a tiled op; none if it has no contraction that computes or reads one.
  static std::optional<MatrixAxes> of(TiledOp tiled);
  bool isBatch(llvm::StringRef name) const;
  /// Whether a type's axes are exactly these, in this order.
  bool isMatrix(NamedTensorType type) const;
  /// Whether a type's axes are the batch axes and the rows, in this order, and any axes after them.
  bool startsWithRows(NamedTensorType type) const;
};

enum class TiledRole { MakesMatrix, SumsColumns, SumsRows };

/// Strides of an operand or a result in elements: along its axis of rows or columns, and along E.
struct TiledStrides {
  int64_t line = 0, element = 0;
  /// Whether one of the two axes is contiguous.
  bool isDense() const { return line == 1 || element == 1; }
};

struct TiledContraction {
  TiledRole role;
  unsigned x, y;                   ///< operand numbers: of the rows (of x, or of the matrix), and of y
  int64_t extent;                  ///< size of E
  TiledStrides ofX, ofY, ofResult; ///< not set for the matrix itself
};

/// The role of a contraction; none if it has none of these, or if the axes of an operand have no common stride.
std::optional<TiledContraction> tiledRole(ContractOp contract, const MatrixAxes &axes);

} // namespace tessera

#endif // TESSERA_PASSES_TILE_TILEDCONTRACTION_H
