//===- Views.h - ops whose result is part of their operand's buffer -------===//
//
// After `layout` the result of a view is its operand's buffer, at an offset, under another type: `rename`, `split` and
// `merge` of adjacent axes, `slice` along the outermost axis. Views are outside kernels and cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_VIEWS_H
#define TESSERA_PASSES_ANALYSIS_VIEWS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether an op is a view: its result is in its operand's buffer, given the memory orders of their types. The only
/// predicate of that kind; `isReshape` (ir/dialect/Reshape.h) ignores storage.
bool isStorageView(mlir::Operation *op);

/// Bytes from the start of the operand's buffer to the start of the view.
int64_t viewOffset(mlir::Operation *view);

/// The value that owns the buffer, before all views.
mlir::Value viewRoot(mlir::Value value);

/// Bytes from the start of `viewRoot(value)` to the start of `value`.
int64_t offsetInRoot(mlir::Value value);

/// Whether `value` covers the whole buffer of its root.
bool coversRoot(mlir::Value value);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_VIEWS_H
