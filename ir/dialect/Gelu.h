//===- Gelu.h - GELU in its tanh form, at one point -----------------------===//

#ifndef TESSERA_IR_DIALECT_GELU_H
#define TESSERA_IR_DIALECT_GELU_H

#include <cmath>

namespace tessera {

/// Of the argument of tanh, sqrt(2 / pi) (x + cubic x^3).
inline constexpr double geluScale = 0.7978845608028654, geluCubic = 0.044715;

namespace detail {
inline double geluTanh(double x) { return std::tanh(geluScale * (x + geluCubic * x * x * x)); }
} // namespace detail

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
inline double gelu(double x) { return 0.5 * x * (1 + detail::geluTanh(x)); }

inline double geluDerivative(double x) {
  double tanh = detail::geluTanh(x);
  double inner = geluScale * (1 + 3 * geluCubic * x * x);
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner;
}

} // namespace tessera

#endif // TESSERA_IR_DIALECT_GELU_H
