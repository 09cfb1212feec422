// Times and counts have the unit that suits them, also where rounding reaches the next one.

#include "runtime/base/Quantities.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace tessera::runtime;

namespace {

TEST(Quantities, SecondsHaveThreeDigits) {
  const std::pair<double, const char *> times[] = {{0, "0 s"},
                                                   {1e-12, "0.00 ns"},
                                                   {4.56e-9, "4.56 ns"},
                                                   {9.994e-9, "9.99 ns"},
                                                   {9.996e-9, "10.0 ns"},
                                                   {99.94e-9, "99.9 ns"},
                                                   {99.96e-9, "100 ns"},
                                                   {999.4e-9, "999 ns"},
                                                   {999.6e-9, "1.00 us"},
                                                   {789e-6, "789 us"},
                                                   {999.6e-6, "1.00 ms"},
                                                   {45.6e-3, "45.6 ms"},
                                                   {0.9994, "999 ms"},
                                                   {0.9996, "1.00 s"},
                                                   {1.234, "1.23 s"},
                                                   {59.96, "60.0 s"},
                                                   {1234.5, "1234 s"}};
  for (const auto &[seconds, text] : times) EXPECT_EQ(formatSeconds(seconds), text) << seconds;
  EXPECT_EQ(formatSeconds(NAN), "nan s");
}

TEST(Quantities, DurationsHaveTwoUnits) {
  const std::pair<double, const char *> times[] = {{0, "0s"},
                                                   {59.9, "59s"},
                                                   {60, "1m00s"},
                                                   {3599, "59m59s"},
                                                   {3600, "1h00m"},
                                                   {7500, "2h05m"},
                                                   {48 * 3600 - 1, "47h59m"},
                                                   {48 * 3600, "2d00h"},
                                                   {3553200, "41d03h"},
                                                   {1e15, "3.2e+07 years"}};
  for (const auto &[seconds, text] : times) EXPECT_EQ(formatDuration(seconds), text) << seconds;
}

TEST(Quantities, CountsHaveAtMostFiveDigits) {
  const std::pair<double, const char *> counts[] = {{0, "0.0"},         {789, "789.0"},    {9999.94, "9999.9"},
                                                    {9999.96, "10.0k"}, {45600, "45.6k"},  {999940, "999.9k"},
                                                    {999960, "1.00M"},  {1234567, "1.23M"}};
  for (const auto &[value, text] : counts) EXPECT_EQ(formatCount(value), text) << value;
}

} // namespace
