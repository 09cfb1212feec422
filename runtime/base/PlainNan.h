//===- PlainNan.h - numbers as people read them -------------------------------===//

#ifndef TESSERA_RUNTIME_PLAINNAN_H
#define TESSERA_RUNTIME_PLAINNAN_H

#include <cmath>

namespace tessera::runtime {

/// A NaN without its sign, which means nothing and would be printed.
inline double plainNan(double value) { return std::isnan(value) ? std::nan("") : value; }

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PLAINNAN_H
