//===- MicroKernels.h - calls of micro-kernels for tiles of any shape ------===//
//
// A micro-kernel is generated for a fixed number of rows, for whole or masked columns, and for one addend. If tiles
// differ in these (the last rows, the last columns, the first block of K), the function is selected at run time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_MICROKERNELS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_MICROKERNELS_H

#include "codegen/cpu/contraction/MatrixFunctions.h"

namespace tessera {

/// Rows of the tiles into which blocks of these lengths are divided: whole tiles and the remainders. Largest first.
llvm::SmallVector<unsigned> rowCounts(const RegisterTile &tile, llvm::ArrayRef<int64_t> lengths);

/// The micro-kernels of one contraction.
class MicroKernels {
public:
  using Value = mlir::Value;

  /// Arguments of a micro-kernel, see MatrixFunctions.h.
  struct Operands {
    Value units, a, b, c, cStride, row;
  };

  virtual ~MicroKernels() = default;
  /// Calls the micro-kernel for a tile of so many rows and columns, at most those of a register tile. `isFirst`:
  /// whether this is the first block of K; null if the addend is the same in all blocks.
  virtual void call(CodeBuilder &code, const Operands &operands, Value rows, Value columns, Value isFirst) const = 0;
};

/// Micro-kernels in vector registers.
class VectorMicroKernels : public MicroKernels {
public:
  /// For c of `columns` columns, and tiles of the given numbers of rows. `first` is the addend in the first block of K,
  /// `later` in the others; they are equal if there are no others.
  VectorMicroKernels(MatrixFunctions &functions, const RegisterTile &tile, MicroKernelStrides strides,
                     llvm::ArrayRef<unsigned> rowCounts, int64_t columns, Addend first, Addend later,
                     PanelFormat format, ElementType result);

  void call(CodeBuilder &code, const Operands &operands, Value rows, Value columns, Value isFirst) const override;

private:
  static size_t slotOf(size_t count, bool masked, bool later) { return (count * 2 + masked) * 2 + later; }

  RegisterTile tile;
  llvm::SmallVector<unsigned> counts;
  bool hasWhole, hasMasked, hasLater;
  llvm::SmallVector<mlir::LLVM::LLVMFuncOp> functions; ///< by count of rows, masked, later: `slotOf`
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_MICROKERNELS_H
