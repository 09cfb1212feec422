//===- IndexRange.h - what values an index can have -----------------------===//

#ifndef TESSERA_IR_INDEXRANGE_H
#define TESSERA_IR_INDEXRANGE_H

#include "ir/dialect/Tsr.h"
#include <optional>

namespace tessera {

/// All integers from `low` to `high`, both included.
struct IndexRange {
  int64_t low, high;
  /// Whether every value is a position along an axis of the size.
  bool isWithin(int64_t size) const { return low >= 0 && high < size; }
};

/// Bounds of an integer or boolean value, from constants, positions and arithmetic on them; nothing where they are not
/// known.
std::optional<IndexRange> indexRange(mlir::Value value);

/// A value that equals the position along `axis` plus `offset`.
struct ShiftedIndex {
  AxisAttr axis;
  int64_t offset;
};

/// Recognises `index(axis)`, plus or minus constants.
std::optional<ShiftedIndex> matchShiftedIndex(mlir::Value value);

} // namespace tessera

#endif // TESSERA_IR_INDEXRANGE_H
