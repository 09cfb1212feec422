//===- Interval.cpp - interval arithmetic on integers ---------------------===//

#include "ir/dialect/Interval.h"
#include <algorithm>

using namespace tessera;

using Wide = __int128; // exact sums and products of any two ends

static std::optional<Interval> hullOf(std::initializer_list<Wide> candidates) {
  auto [low, high] = std::minmax(candidates);
  if (low < INT32_MIN || high > INT32_MAX) return std::nullopt;
  return Interval{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

int64_t tessera::floorDiv(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

std::optional<Interval> bounds::bounded(Interval x) { return hullOf({x.low, x.high}); }

std::optional<Interval> bounds::negated(Interval x) { return hullOf({-Wide(x.high), -Wide(x.low)}); }

std::optional<Interval> bounds::magnitude(Interval x) {
  bool hasZero = x.low <= 0 && x.high >= 0;
  Wide low = x.low < 0 ? -Wide(x.low) : Wide(x.low), high = x.high < 0 ? -Wide(x.high) : Wide(x.high);
  return hullOf({hasZero ? Wide(0) : low, low, high});
}

std::optional<Interval> bounds::sum(Interval a, Interval b) {
  return hullOf({Wide(a.low) + b.low, Wide(a.high) + b.high});
}

std::optional<Interval> bounds::difference(Interval a, Interval b) {
  return hullOf({Wide(a.low) - b.high, Wide(a.high) - b.low});
}

std::optional<Interval> bounds::product(Interval a, Interval b) {
  return hullOf({Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high});
}

std::optional<Interval> bounds::floorQuotient(Interval a, Interval b) {
  if (b.low <= 0) return std::nullopt;
  return hullOf({floorDiv(a.low, b.low), floorDiv(a.low, b.high), floorDiv(a.high, b.low), floorDiv(a.high, b.high)});
}

std::optional<Interval> bounds::remainder(Interval a, Interval b) {
  if (b.low <= 0) return std::nullopt;
  if (a.low >= 0 && a.high < b.low) return bounded(a);
  return bounded({0, b.high - 1});
}

std::optional<Interval> bounds::larger(Interval a, Interval b) {
  return bounded({std::max(a.low, b.low), std::max(a.high, b.high)});
}

std::optional<Interval> bounds::smaller(Interval a, Interval b) {
  return bounded({std::min(a.low, b.low), std::min(a.high, b.high)});
}

std::optional<Interval> bounds::hull(Interval a, Interval b) {
  return bounded({std::min(a.low, b.low), std::max(a.high, b.high)});
}
