//===- IndexRange.h - what values an index can have -----------------------===//

#ifndef TESSERA_IR_PROGRAM_INDEXRANGE_H
#define TESSERA_IR_PROGRAM_INDEXRANGE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Bounds of an integer or boolean value, from constants, positions and arithmetic on them; nothing where they are not
/// known or do not fit 32 bits.
std::optional<Interval> indexRange(mlir::Value value);

/// A value that equals the position along `axis` plus `offset`.
struct ShiftedIndex {
  AxisAttr axis;
  int64_t offset;
};

/// Recognises `index(axis)`, plus or minus constants.
std::optional<ShiftedIndex> matchShiftedIndex(mlir::Value value);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_INDEXRANGE_H
