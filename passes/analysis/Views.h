//===- Views.h - ops whose result is part of their operand's buffer -------===//
//
// After `layout` the result of a view is its operand's buffer, at an offset, under another type: `rename`, `split` and
// `merge` of adjacent axes, `slice` along the outermost axis, or along another one if the result's type has the strides
// of the operand's. Views are outside kernels and cost nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_VIEWS_H
#define TESSERA_PASSES_ANALYSIS_VIEWS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Whether an op is a view: its result is in its operand's buffer, given the memory orders and allocated sizes of
/// their types. The only predicate of that kind; `isReshape` (ir/dialect/Reshape.h) ignores storage.
bool isStorageView(mlir::Operation *op);

/// The type that the result of a rename, split, merge or slice has as a view of an operand of type `x`: the result's
/// axes with the operand's strides. None if there is no such type.
std::optional<NamedTensorType> viewType(mlir::Operation *op, NamedTensorType x);

/// The reverse: the type of the operand with the strides of `result`, for a slice along the outermost axis.
std::optional<NamedTensorType> viewedType(mlir::Operation *op, NamedTensorType result);

/// Bytes from the start of the operand's buffer to the start of the view.
int64_t viewOffset(mlir::Operation *view);

/// The value that owns the buffer, before all views.
mlir::Value viewRoot(mlir::Value value);

/// Bytes from the start of `viewRoot(value)` to the start of `value`.
int64_t offsetInRoot(mlir::Value value);

/// Whether `value` has all elements of its root.
bool coversRoot(mlir::Value value);

/// Bytes from the start of `value` to the end of its type, or to that of its root's buffer if that comes first, as it
/// does where `value` is a part of every row. All its elements are within them, perhaps with those of other values.
int64_t bytesInRoot(mlir::Value value);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_VIEWS_H
