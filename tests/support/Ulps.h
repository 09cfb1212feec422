//===- Ulps.h - accuracy of functions over all magnitudes of f32 ----------===//

#ifndef TESSERA_TESTS_SUPPORT_ULPS_H
#define TESSERA_TESTS_SUPPORT_ULPS_H

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::test {

/// Every 1021st f32 of all signs and magnitudes, subnormals, infinities and NaN included.
inline std::vector<float> allMagnitudes() {
  constexpr unsigned step = 1021;
  std::vector<float> values{0.0f, -0.0f,     1.0f,       -1.0f,     INFINITY,     -INFINITY,
                            NAN,  0x1p-149f, -0x1p-149f, 0x1p-126f, 3.4028235e38f};
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += step)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return values;
}

/// The error of `got` in units of the last place of an f32 near `exact`.
inline double ulps(float got, double exact) {
  auto rounded = static_cast<float>(exact);
  if (std::isnan(exact)) return std::isnan(got) ? 0 : INFINITY;
  if (std::isinf(got) || std::isinf(rounded))
    return got == rounded ? 0 : std::abs(exact) > 3.4028234e38 && std::abs(got) > 3.40282e38 ? 1 : INFINITY;
  double unit = std::ldexp(1.0, std::max(exact == 0 ? -149 : std::ilogb(exact) - 23, -149));
  return std::abs(got - exact) / unit;
}

} // namespace tessera::test

#endif // TESSERA_TESTS_SUPPORT_ULPS_H
