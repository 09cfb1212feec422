//===- FloatRange.cpp - bounds of floats -----------------------------------===//

#include "frontend/elaborate/FloatRange.h"
#include <algorithm>
#include <cfloat>

using namespace tessera;

/// The range of results between these, rounded to f32. Programs may flush subnormal results to 0.
static FloatRange rounded(double low, double high) {
  FloatRange range{static_cast<float>(low), static_cast<float>(high), false};
  if (range.low > 0 && range.low < FLT_MIN) range.low = 0;
  if (range.high < 0 && range.high > -FLT_MIN) range.high = 0;
  return range;
}

FloatRange FloatRange::ofNumber(double number) {
  if (std::isnan(number)) return {};
  return rounded(number, number);
}

FloatRange FloatRange::ofIntegers(Interval integers) {
  return rounded(static_cast<double>(integers.low), static_cast<double>(integers.high));
}

Interval FloatRange::toIntegers() const {
  auto saturated = [](double x) {
    return static_cast<int64_t>(std::trunc(std::clamp<double>(x, INT32_MIN, INT32_MAX)));
  };
  Interval integers{saturated(low), saturated(high)};
  return mayBeNan ? *bounds::hull(integers, Interval::point(0)) : integers;
}

FloatRange bounds::negated(FloatRange x) { return {-x.high, -x.low, x.mayBeNan}; }

FloatRange bounds::sum(FloatRange a, FloatRange b) {
  return a.isFinite() && b.isFinite() ? rounded(a.low + b.low, a.high + b.high) : FloatRange();
}

FloatRange bounds::difference(FloatRange a, FloatRange b) { return sum(a, negated(b)); }

FloatRange bounds::product(FloatRange a, FloatRange b) {
  if (!a.isFinite() || !b.isFinite()) return {};
  auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  return rounded(low, high);
}

FloatRange bounds::larger(FloatRange a, FloatRange b) {
  return {std::max(a.low, b.low), std::max(a.high, b.high), a.mayBeNan || b.mayBeNan};
}

FloatRange bounds::smaller(FloatRange a, FloatRange b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high), a.mayBeNan || b.mayBeNan};
}

FloatRange bounds::magnitude(FloatRange x) { return larger(larger(x, negated(x)), FloatRange::ofNumber(0)); }

FloatRange bounds::hull(FloatRange a, FloatRange b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.mayBeNan || b.mayBeNan};
}
