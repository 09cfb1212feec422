//===- Amx.h - products on AMX's tile registers ------------------------------===//
//
// A tile register holds 16 rows of 64 bytes: of c 16 numbers of f32 each, of a 16 units along K, of b 16 columns for one unit. One
// instruction multiplies 16 x 16 units of a by 16 x 16 of b and adds up in f32. A product keeps 32 x 32 numbers of c in four of them.
//
// Operands have no tails: panels have zeros along K, and rows and columns beyond the last give sums that nobody takes. So all tiles
// have one configuration, which a contraction sets when it is called.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H

#include "codegen/cpu/contraction/ProductVariants.h"

namespace tessera {

/// All tile registers, 16 rows of 64 bytes each. Emitted at a function's entry.
void configureTiles(CodeBuilder &code);
/// Gives them back: the system saves nothing of them any more.
void releaseTiles(CodeBuilder &code);

/// Products for c of any number of rows and columns (as ProductVariants).
class AmxProducts {
public:
  using Value = mlir::Value;

  AmxProducts(MatrixFunctions &functions, ProductStrides strides, int64_t rows, int64_t columns, Addend first,
              Addend later, ElementType result);

  /// For at most 32 rows and columns.
  void call(CodeBuilder &code, const ProductVariants::Operands &operands, Value rows, Value columns,
            Value isFirst) const;

private:
  bool hasLater;
  mlir::LLVM::LLVMFuncOp functions[2][2][2]; ///< by tiles of rows and of columns, less one, and later; null: not needed
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H
