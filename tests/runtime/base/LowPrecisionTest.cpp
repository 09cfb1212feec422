// Elements of 16 bits: all that f16 has, and the rounding to bf16.

#include "runtime/base/LowPrecision.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera::runtime;

namespace {

TEST(LowPrecision, EveryF16IsRead) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double size = exponent == 0    ? std::ldexp(mantissa, -24)
                  : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                   : std::ldexp(1024 + mantissa, exponent - 25);
    double expected = bits >> 15 ? -size : size, read = fromF16(static_cast<uint16_t>(bits));
    ASSERT_TRUE(read == expected || (std::isnan(read) && std::isnan(expected))) << bits;
    ASSERT_EQ(std::signbit(read), bits >> 15 != 0) << bits;
  }
}

TEST(LowPrecision, Bf16IsRoundedToNearest) {
  EXPECT_EQ(toBf16(1), 0x3f80);
  EXPECT_EQ(toBf16(1 + 0x1p-8f), 0x3f80); // ties to even
  EXPECT_EQ(toBf16(1 + 0x3p-8f), 0x3f82);
  EXPECT_EQ(toBf16(std::nextafter(1 + 0x1p-8f, 2.0f)), 0x3f81);
  EXPECT_EQ(fromBf16(toBf16(0x1.ffp127f)), INFINITY);
  EXPECT_TRUE(std::isnan(fromBf16(toBf16(NAN))));
  for (int bits = 0; bits < 1 << 16; ++bits) {
    float number = fromBf16(static_cast<uint16_t>(bits));
    if (!std::isnan(number)) ASSERT_EQ(toBf16(number), bits);
  }
}

} // namespace
