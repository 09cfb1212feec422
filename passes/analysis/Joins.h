//===- Joins.h - values that are parts of a joined value -------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_JOINS_H
#define TESSERA_PASSES_ANALYSIS_JOINS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// The join that a value, which is no view, is an operand of; null if there is none. Its place is in that of the join's
/// result.
JoinOp joinOf(mlir::Value root);

/// Bytes from the start of a join's result to the start of an operand.
int64_t partOffset(JoinOp join, unsigned part);

/// What an operand of a join covers of the result: `width` bytes from `column` on, of each `pitch` bytes.
struct PartRows {
  JoinOp join;
  int64_t column, width, pitch;
};

/// The rows of a value that is written as a part of a join; none if it is not one.
std::optional<PartRows> partRows(mlir::Value root);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_JOINS_H
