//===- ProductVariants.h - one product for tiles of any shape --------------===//
//
// `product` has a fixed number of rows, whole or masked columns, and something it adds to. Where tiles differ in these
// (the last rows, the last columns, the first block of K), the function is chosen while the program runs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_PRODUCTVARIANTS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_PRODUCTVARIANTS_H

#include "codegen/cpu/contraction/MatrixFunctions.h"

namespace tessera {

/// Rows of the tiles into which blocks of these lengths are cut: whole tiles and what is left over. Longest first.
llvm::SmallVector<unsigned> rowCounts(const RegisterTile &tile, llvm::ArrayRef<int64_t> lengths);

class ProductVariants {
public:
  using Value = mlir::Value;

  /// For c of `columns` columns. `first`: what is added in the first block of K, `later` in the others; equal if there are
  /// no others.
  ProductVariants(MatrixFunctions &functions, const RegisterTile &tile, ProductStrides strides,
                  llvm::ArrayRef<unsigned> rowCounts, int64_t columns, Addend first, Addend later, PanelFormat format,
                  ElementType result);

  /// The operands of `product`, see MatrixFunctions.h.
  struct Operands {
    Value units, a, b, c, cStride, row;
  };
  /// Calls the product for a tile of so many rows, one of the row counts, and columns, at most the tile's. `isFirst` may be
  /// null where `first` and `later` are equal.
  void call(CodeBuilder &code, const Operands &operands, Value rows, Value columns, Value isFirst) const;

private:
  mlir::LLVM::LLVMFuncOp &at(size_t rows, bool masked, bool later) {
    return functions[(rows * 2 + masked) * 2 + later];
  }

  RegisterTile tile;
  llvm::SmallVector<unsigned> counts;
  bool hasWhole, hasMasked, hasLater;
  llvm::SmallVector<mlir::LLVM::LLVMFuncOp> functions; ///< by count of rows, masked, later
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_PRODUCTVARIANTS_H
