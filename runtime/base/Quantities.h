//===- Quantities.h - times and counts as text ----------------------------===//

#ifndef TESSERA_RUNTIME_BASE_QUANTITIES_H
#define TESSERA_RUNTIME_BASE_QUANTITIES_H

#include <string>

namespace tessera::runtime {

/// Of something that takes long, in two units: "2h05m", "3m20s", "12s", "41d03h".
std::string formatDuration(double seconds);

/// Of something short, with three digits: "1.23 s", "45.6 ms", "789 us".
std::string formatSeconds(double seconds);

/// "1.23M", "45.6k", "789.0".
std::string formatCount(double value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_QUANTITIES_H
