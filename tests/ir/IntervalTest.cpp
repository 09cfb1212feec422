//===- IntervalTest.cpp - bounds contain every result ---------------------===//

#include "ir/dialect/UnaryFunction.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

constexpr int64_t reach = 5; ///< of the ends of the intervals tried

std::vector<Interval> smallIntervals() {
  std::vector<Interval> all;
  for (int64_t low = -reach; low <= reach; ++low)
    for (int64_t high = low; high <= reach; ++high) all.push_back({low, high});
  return all;
}

/// Bounds of every pair of small intervals hold for all values, and the op's exact ends are reached where `isTight`.
template <typename OpT> void expectSound(bool isTight) {
  for (Interval a : smallIntervals())
    for (Interval b : smallIntervals()) {
      std::optional<Interval> bounds = OpT::boundsOf(a, b);
      if (!bounds) continue;
      int64_t low = INT64_MAX, high = INT64_MIN;
      for (int64_t x = a.low; x <= a.high; ++x)
        for (int64_t y = b.low; y <= b.high; ++y) {
          auto value = static_cast<int64_t>(OpT::valueAt(x, y));
          low = std::min(low, value), high = std::max(high, value);
        }
      std::string what = OpT::getOperationName().str() + " [" + std::to_string(a.low) + ", " + std::to_string(a.high) +
                         "] [" + std::to_string(b.low) + ", " + std::to_string(b.high) + "]";
      EXPECT_TRUE(bounds->contains({low, high})) << what;
      if (isTight) EXPECT_TRUE(Interval({low, high}).contains(*bounds)) << what;
    }
}

TEST(Interval, BoundsHoldForEveryValue) {
  expectSound<AddOp>(true);
  expectSound<SubOp>(true);
  expectSound<MulOp>(true);
  expectSound<MaxOp>(true);
  expectSound<MinOp>(true);
  expectSound<FloorDivOp>(true);
  expectSound<ModOp>(false);
}

TEST(Interval, MagnitudesAreThoseOfTheValues) {
  for (Interval x : smallIntervals()) {
    Interval exact{INT64_MAX, INT64_MIN};
    for (int64_t value = x.low; value <= x.high; ++value)
      exact = {std::min(exact.low, std::abs(value)), std::max(exact.high, std::abs(value))};
    EXPECT_EQ(bounds::magnitude(x)->low, exact.low);
    EXPECT_EQ(bounds::magnitude(x)->high, exact.high);
  }
  EXPECT_FALSE(bounds::magnitude(Interval::int32())); // -INT32_MIN
}

TEST(Interval, SaysNothingBeyond32Bits) {
  Interval all = Interval::int32(), unbounded;
  EXPECT_FALSE(AddOp::boundsOf(all, Interval::point(1)));
  EXPECT_FALSE(bounds::negated(all)); // -INT32_MIN
  EXPECT_FALSE(MulOp::boundsOf(unbounded, unbounded));
  EXPECT_FALSE(DivOp::boundsOf({1, 2}, {1, 2}));
  std::optional<Interval> rest = ModOp::boundsOf(unbounded, Interval::point(7));
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->isWithin(7));
  EXPECT_FALSE(rest->isWithin(6));
}

} // namespace
