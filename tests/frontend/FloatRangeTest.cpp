//===- FloatRangeTest.cpp - bounds of floats -------------------------------===//

#include "frontend/elaborate/FloatRange.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

// As programs compute it: the largest draw times n is rounded to f32, and must not become n.
TEST(FloatRange, ADrawTimesASizeIsAnIndex) {
  for (int64_t n = 1; n <= 1 << 24; n += 1 + n / 1000) {
    float largest = (1 - 0x1p-24f) * static_cast<float>(n);
    EXPECT_LT(largest, static_cast<float>(n)) << n;
    Interval index =
        bounds::product(FloatRange::ofUniform(), FloatRange::ofNumber(static_cast<double>(n))).toIntegers();
    EXPECT_EQ(index.low, 0) << n;
    EXPECT_EQ(index.high, n - 1) << n;
  }
}

TEST(FloatRange, BoundsAreRoundedToF32) {
  FloatRange wide = FloatRange::ofIntegers({-16777217, 16777219}); // neither is an f32
  EXPECT_EQ(wide.low, -16777216);
  EXPECT_EQ(wide.high, 16777220);
  FloatRange tiny = FloatRange::ofNumber(1e-39); // subnormal: programs may compute with 0
  EXPECT_EQ(tiny.low, 0);
  EXPECT_GT(tiny.high, 0);
}

TEST(FloatRange, ResultsThatMayNotBeNumbersHaveNoBounds) {
  FloatRange any, one = FloatRange::ofNumber(1), large = FloatRange::ofNumber(3e38);
  EXPECT_FALSE(bounds::sum(any, one).isFinite());
  EXPECT_FALSE(bounds::product(bounds::larger(any, one), one).isFinite());
  EXPECT_FALSE(bounds::product(large, large).isFinite());
  EXPECT_FALSE(bounds::sum(bounds::product(large, large), one).isFinite());
}

TEST(FloatRange, MagnitudesIncludeZeroWhereTheSignChanges) {
  auto between = [](double low, double high) { return FloatRange{low, high, false}; };
  for (auto [range, low, high] : {std::tuple(between(-3, 2), 0, 3), std::tuple(between(-2, 3), 0, 3),
                                  std::tuple(between(2, 5), 2, 5), std::tuple(between(-5, -2), 2, 5)}) {
    EXPECT_EQ(bounds::magnitude(range).low, low);
    EXPECT_EQ(bounds::magnitude(range).high, high);
  }
  EXPECT_TRUE(bounds::magnitude(FloatRange()).mayBeNan);
}

TEST(FloatRange, NanBecomesTheIntegerZero) {
  FloatRange any, low = FloatRange::ofNumber(2), high = FloatRange::ofNumber(7.5);
  Interval clamped = bounds::smaller(bounds::larger(any, low), high).toIntegers();
  EXPECT_EQ(clamped.low, 0);
  EXPECT_EQ(clamped.high, 7);
  Interval chosen = bounds::hull(bounds::negated(high), low).toIntegers();
  EXPECT_EQ(chosen.low, -7);
  EXPECT_EQ(chosen.high, 2);
  EXPECT_EQ(any.toIntegers().low, INT32_MIN);
  EXPECT_EQ(any.toIntegers().high, INT32_MAX);
}

} // namespace
