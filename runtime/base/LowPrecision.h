//===- LowPrecision.h - elements of 16 bits as f32, and back --------------===//

#ifndef TESSERA_RUNTIME_BASE_LOWPRECISION_H
#define TESSERA_RUNTIME_BASE_LOWPRECISION_H

#include <bit>
#include <cstdint>

namespace tessera::runtime {

/// Exact.
inline float fromF16(uint16_t bits) {
  uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f; // where the exponent is 0
  if (exponent != 0) magnitude = std::bit_cast<float>((exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Exact: bf16 is the upper half of f32.
inline float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

/// Rounds to nearest, ties to even. A finite value may become infinite.
inline uint16_t toBf16(float number) {
  auto bits = std::bit_cast<uint32_t>(number);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_LOWPRECISION_H
