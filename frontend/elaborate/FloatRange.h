//===- FloatRange.h - bounds of floats ---------------------------------------===//
//
// What proves that `int(uniform[a]() * n)` is an index along an axis of size n. An op rounds its result to the nearest
// f32, and rounding keeps the order, so the rounded results of the bounds are bounds of the rounded results.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_FLOATRANGE_H
#define TESSERA_FRONTEND_ELABORATE_FLOATRANGE_H

#include "ir/dialect/Interval.h"
#include <cmath>

namespace tessera {

/// All f32 values from `low` to `high`, both included, and NaN if it may be one.
struct FloatRange {
  double low = -INFINITY, high = INFINITY;
  bool mayBeNan = true;

  static FloatRange ofNumber(double number);
  static FloatRange ofIntegers(Interval integers);
  /// Of `uniform[…]()`, which draws multiples of 2^-24.
  static FloatRange ofUniform() { return {0, 1 - 0x1p-24, false}; }

  bool isFinite() const { return std::isfinite(low) && std::isfinite(high) && !mayBeNan; }
  /// The values of a function that keeps the order: `floor`, `round`.
  FloatRange mapped(double (*function)(double)) const { return {function(low), function(high), mayBeNan}; }
  /// What `int(…)` makes of the values: rounded toward zero, saturated, NaN as 0.
  Interval toIntegers() const;
};

namespace bounds {

FloatRange negated(FloatRange x);
// All values unless both operands are finite: then no result is NaN.
FloatRange sum(FloatRange a, FloatRange b);
FloatRange difference(FloatRange a, FloatRange b);
FloatRange product(FloatRange a, FloatRange b);
FloatRange larger(FloatRange a, FloatRange b);
FloatRange smaller(FloatRange a, FloatRange b);
FloatRange magnitude(FloatRange x);
/// The smallest range that contains both.
FloatRange hull(FloatRange a, FloatRange b);

} // namespace bounds
} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_FLOATRANGE_H
