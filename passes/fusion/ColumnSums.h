//===- ColumnSums.h - element values that are computed with their column sums ----===//

#ifndef TESSERA_PASSES_FUSION_COLUMNSUMS_H
#define TESSERA_PASSES_FUSION_COLUMNSUMS_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// Ops that the kernel of a column sum computes, although other ops read their result too; each with the sum, in
/// program order.
using ColumnOps = llvm::MapVector<mlir::Operation *, ReduceOp>;

/// Finds elementwise values that are stored and summed over outer axes. Where it saves bytes and the target has threads
/// for it, the kernel of the sum is to compute the value: ops on the way to it that other kernels need are cloned.
ColumnOps separateColumnOps(mlir::Block &block);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_COLUMNSUMS_H
