//===- KernelWork.h - arithmetic and bytes of a kernel --------------------===//

#ifndef TESSERA_PASSES_COST_KERNELWORK_H
#define TESSERA_PASSES_COST_KERNELWORK_H

#include "ir/dialect/Tsr.h"
#include "runtime/base/ElementType.h"

namespace tessera {

struct ContractionGemm;

/// Multiplications of equal size that are computed by one call: c [m, n] = a [m, k] · b [k, n].
struct MultiplyWork {
  ElementType type = ElementType::F32; ///< of a
  double count = 1;                    ///< how many; of a band of a matrix only the part in the band
  int64_t m = 0, n = 0, k = 0;
  bool isTiled = false; ///< inside a tiled op: operands and results stay in caches
  bool tf32 = false;    ///< f32 operands may be rounded to tf32
  double counted = 1;   ///< the part of them that are operations of the program: what is computed anew is none
};

/// How many elements an op computes, by its mnemonic: `exp`. An op that several sweeps compute counts in each.
struct OpCount {
  llvm::StringRef op;
  int64_t elements;
};

/// The work of one call of a kernel: the least that any code needs, but for `ops`, which follow the kernel's plan.
struct KernelWork {
  int64_t flops = 0;             ///< one for each op and element of its iteration space
  bool isContraction = false;    ///< the operations are multiply-adds of contractions
  int64_t read = 0, written = 0; ///< bytes; of a table, only those that are gathered
  /// Of kernels, and of the kernels in tiled ops: what is computed element by element, in the order of names.
  llvm::SmallVector<OpCount, 0> ops = {};
  llvm::SmallVector<MultiplyWork, 0> gemms = {}; ///< of contractions and tiled ops
};

KernelWork workOf(KernelOp kernel);
/// The work of a tiled op, or of the kernels of one launch.
KernelWork workOf(llvm::ArrayRef<mlir::Operation *> ops);
/// The work of GEMMs that are computed in one call.
KernelWork workOf(llvm::ArrayRef<ContractOp> contractions);
KernelWork workOf(TiledOp tiled);
/// The work of each launch of a tiled op on a GPU (passes/tile/TiledLaunches.h): matrices are computed in each, and
/// elements of a softmax whose sums take one sweep are computed once. The operations (`flops`, `counted`) add up to
/// those of the op.
llvm::SmallVector<KernelWork, 2> workOfLaunches(TiledOp tiled);
/// The work of a GEMM, which may be a part of a contraction.
KernelWork workOf(const ContractionGemm &gemm);

/// Bytes that one call reads of an operand of a kernel, tiled op or contraction.
int64_t bytesRead(mlir::Operation *op, unsigned operand);
/// Bytes that one call writes of a result.
int64_t bytesWritten(mlir::Operation *op, unsigned result);

} // namespace tessera

#endif // TESSERA_PASSES_COST_KERNELWORK_H
