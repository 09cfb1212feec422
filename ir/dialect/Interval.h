//===- Interval.h - interval arithmetic on integers -----------------------===//

#ifndef TESSERA_IR_DIALECT_INTERVAL_H
#define TESSERA_IR_DIALECT_INTERVAL_H

#include <cstdint>
#include <optional>

namespace tessera {

/// All integers from `low` to `high`, both included. An end at INT64_MIN or INT64_MAX is unbounded.
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;

  static Interval point(int64_t value) { return {value, value}; }
  /// All values of i32.
  static Interval int32() { return {INT32_MIN, INT32_MAX}; }

  bool contains(const Interval &other) const { return low <= other.low && other.high <= high; }
  bool intersects(const Interval &other) const { return low <= other.high && other.low <= high; }
  /// Whether every value is an index along an axis of the size.
  bool isWithin(int64_t size) const { return low >= 0 && high < size; }
  bool isPoint() const { return low == high; }
};

namespace bounds {

/// The interval if it fits 32 bits. Beyond that i32 wraps around, and nothing is known.
std::optional<Interval> bounded(Interval interval);

// Bounds of results of integer ops; nothing where they do not fit 32 bits or cannot be told.
std::optional<Interval> negated(Interval x);
std::optional<Interval> magnitude(Interval x);
std::optional<Interval> sum(Interval a, Interval b);
std::optional<Interval> difference(Interval a, Interval b);
std::optional<Interval> product(Interval a, Interval b);
std::optional<Interval> floorQuotient(Interval a, Interval b);
/// Of `a - b floor(a / b)`, whatever `a` is.
std::optional<Interval> remainder(Interval a, Interval b);
std::optional<Interval> larger(Interval a, Interval b);
std::optional<Interval> smaller(Interval a, Interval b);
/// The smallest interval that contains both.
std::optional<Interval> hull(Interval a, Interval b);

} // namespace bounds

/// The quotient rounded down.
int64_t floorDiv(int64_t a, int64_t b);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_INTERVAL_H
