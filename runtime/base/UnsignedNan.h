//===- UnsignedNan.h - NaN without a sign, for output ---------------------===//

#ifndef TESSERA_RUNTIME_BASE_UNSIGNEDNAN_H
#define TESSERA_RUNTIME_BASE_UNSIGNEDNAN_H

#include <cmath>

namespace tessera::runtime {

/// Clears the sign of a NaN, which is meaningless and would be printed.
inline double unsignedNan(double value) { return std::isnan(value) ? std::nan("") : value; }

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_UNSIGNEDNAN_H
