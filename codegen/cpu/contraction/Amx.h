//===- Amx.h - micro-kernels on AMX's tile registers -------------------------===//
//
// A tile register holds 16 rows of 64 bytes: 16 f32 elements of c in each row; or 16 units along K for a row of a; or
// 16 columns of one unit of b. One instruction multiplies 16 x 16 units of a by 16 x 16 units of b and accumulates in
// f32. A micro-kernel holds 32 x 32 elements of c in four registers.
//
// Operands have no remainders: panels are padded with zeros along K, and the sums of rows and columns beyond the last
// are never read. So all tiles have the same configuration, which a contraction sets when it is called.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H

#include "codegen/cpu/contraction/MicroKernels.h"

namespace tessera {

/// Configures all tile registers, with 16 rows of 64 bytes each. Emitted at a function's entry.
void configureTiles(CodeBuilder &code);
/// Releases them, so that the system no longer saves them when it switches threads.
void releaseTiles(CodeBuilder &code);

/// Micro-kernels on tile registers, for a c of so many rows and columns. The addends are those of VectorMicroKernels.
class AmxMicroKernels : public MicroKernels {
public:
  AmxMicroKernels(MatrixFunctions &functions, MicroKernelStrides strides, int64_t rows, int64_t columns, Addend first,
                  Addend later, ElementType result);

  void call(CodeBuilder &code, const Operands &operands, Value rows, Value columns, Value isFirst) const override;

private:
  bool hasLater;
  mlir::LLVM::LLVMFuncOp functions[2][2][2]; ///< by tiles of rows and of columns minus 1, later; null: unused
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_AMX_H
