//===- Division.h - how ops are applied to parts of an axis ---------------===//

#ifndef TESSERA_IR_DIALECT_DIVISION_H
#define TESSERA_IR_DIALECT_DIVISION_H

#include <cstdint>

namespace tessera {

enum class ReduceKind : uint32_t;

/// What an op makes of a part of each operand that has an axis.
struct AxisDivision {
  enum class Kind {
    None,        ///< a part of the operands does not tell a part of the results
    Independent, ///< a part of each result that has the axis, and the whole of the others
    Combined,    ///< results, which lack the axis, to be combined with those of the other parts
  };
  Kind kind = Kind::None;
  ReduceKind combination = {}; ///< of combined ones

  static AxisDivision none() { return {}; }
  static AxisDivision independent() { return {Kind::Independent, {}}; }
  static AxisDivision combined(ReduceKind combination) { return {Kind::Combined, combination}; }

  bool isIndependent() const { return kind == Kind::Independent; }
  bool isCombined(ReduceKind by) const { return kind == Kind::Combined && combination == by; }
};

} // namespace tessera

#endif // TESSERA_IR_DIALECT_DIVISION_H
