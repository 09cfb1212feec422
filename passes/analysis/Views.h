//===- Views.h - ops that only look at a buffer in another way --------------===//
//
// After `layout` a view's result is its operand's buffer, at an offset, under
// another type: `rename`, `split` and `merge` of neighbours, `slice` along the
// outermost axis. Views stand outside kernels and cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_VIEWS_H
#define TESSERA_PASSES_ANALYSIS_VIEWS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether an op's result lies in its operand's buffer in the memory orders that the types name.
bool isStorageView(mlir::Operation *op);

/// Bytes from the start of the operand's buffer to the start of the view.
int64_t viewOffset(mlir::Operation *view);

/// The value that owns the buffer: goes up through views.
mlir::Value viewRoot(mlir::Value value);

/// Bytes from the start of `viewRoot(value)` to the start of `value`.
int64_t offsetInRoot(mlir::Value value);

/// Whether `value` covers the whole buffer of its root.
bool coversRoot(mlir::Value value);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_VIEWS_H
