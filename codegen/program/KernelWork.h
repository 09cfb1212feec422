//===- KernelWork.h - arithmetic and bytes of a kernel ------------------------===//

#ifndef TESSERA_CODEGEN_HOST_KERNELWORK_H
#define TESSERA_CODEGEN_HOST_KERNELWORK_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// What one call of a kernel does at least, whatever code it becomes.
struct KernelWork {
  int64_t flops = 0;             ///< one for each op and element of its iteration space
  bool contracts = false;        ///< the operations are multiply-adds of contractions
  int64_t read = 0, written = 0; ///< bytes; a table that is gathered from counts what is taken out of it

  /// The work of each of `parts` that share it evenly.
  KernelWork dividedBy(int64_t parts) const { return {flops / parts, contracts, read / parts, written / parts}; }
};

KernelWork workOf(KernelOp kernel);
/// Of a tiled op, or of the kernels of one launch.
KernelWork workOf(llvm::ArrayRef<mlir::Operation *> ops);
/// Of contractions that are computed as one.
KernelWork workOf(llvm::ArrayRef<ContractOp> contractions);
KernelWork workOf(TiledOp tiled);

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_KERNELWORK_H
