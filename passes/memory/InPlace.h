//===- InPlace.h - which results may take the storage of an operand -------------===//

#ifndef TESSERA_PASSES_MEMORY_INPLACE_H
#define TESSERA_PASSES_MEMORY_INPLACE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether the buffer `dying` (a root value), which `op` reads for the last time, may be the storage of `made`, a value
/// that begins with `op`: a kernel's result over an operand that is read only at the point that is written; a
/// contraction's over its `init`; what is received over what was started; a repeat's carried result or argument over
/// the carried operand. No other op of the launch may read it.
bool mayTakeStorage(mlir::Operation *op, mlir::Value dying, mlir::Value made);

/// The same slot by slot: whether the stack `made` of a repeat may be the storage of `dying`, which the repeat slices
/// and which has the same slots. Each iteration must write its slot after it has read it.
bool mayTakeSlots(RepeatOp repeat, mlir::Value dying, mlir::Value made);

/// Whether the kernel may write result `result` over operand `operand`.
bool mayWriteOver(KernelOp kernel, unsigned operand, unsigned result);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_INPLACE_H
