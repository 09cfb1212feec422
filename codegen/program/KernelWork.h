//===- KernelWork.h - arithmetic and bytes of a kernel --------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_KERNELWORK_H
#define TESSERA_CODEGEN_PROGRAM_KERNELWORK_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// The least work of one call of a kernel, whatever its code.
struct KernelWork {
  int64_t flops = 0;             ///< one for each op and element of its iteration space
  bool isContraction = false;    ///< the operations are multiply-adds of contractions
  int64_t read = 0, written = 0; ///< bytes; of a table, only those that are gathered

  /// The work of each of `parts` that share it evenly.
  KernelWork dividedBy(int64_t parts) const { return {flops / parts, isContraction, read / parts, written / parts}; }
};

KernelWork workOf(KernelOp kernel);
/// The work of a tiled op, or of the kernels of one launch.
KernelWork workOf(llvm::ArrayRef<mlir::Operation *> ops);
/// The work of GEMMs that are computed in one call.
KernelWork workOf(llvm::ArrayRef<ContractOp> contractions);
KernelWork workOf(TiledOp tiled);

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_KERNELWORK_H
