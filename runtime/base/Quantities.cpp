//===- Quantities.cpp - times and counts as text --------------------------===//

#include "runtime/base/Quantities.h"

#include <cmath>
#include <cstdint>
#include <fmt/format.h>

namespace tessera::runtime {

std::string formatDuration(double seconds) {
  if (seconds >= 1e15) return fmt::format("{:.2g} years", seconds / 365.25 / 86400);
  auto whole = static_cast<int64_t>(seconds);
  if (whole >= 48 * 3600) return fmt::format("{}d{:02}h", whole / 86400, whole / 3600 % 24);
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string formatSeconds(double seconds) {
  static constexpr std::pair<double, const char *> units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  if (seconds == 0) return "0 s";
  for (const auto &[unit, name] : units) {
    if (seconds < 0.9995 * unit && unit > 1e-9) continue;
    double value = seconds / unit;
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, name);
  }
  return "nan s";
}

std::string formatCount(double value) {
  if (value >= 999'950) return fmt::format("{:.2f}M", value / 1e6);
  return value >= 9'999.95 ? fmt::format("{:.1f}k", value / 1e3) : fmt::format("{:.1f}", value);
}

} // namespace tessera::runtime
