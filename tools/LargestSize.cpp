//===- LargestSize.cpp - the largest size with which a model fits ---------===//
//
// Doubles a size that fits until it does not, finds the limit between the two, and then looks beyond: where one of its
// doubles or a rounder size fits, the search continues from there. A size with many divisors can need less memory than
// smaller ones, because chunks are equal parts: 880 rows are divided into parts of any size, 878 into two only.
//
//===----------------------------------------------------------------------===//

#include "tools/LargestSize.h"
#include "passes/memory/BatchSearch.h"
#include "llvm/ADT/bit.h"

using namespace tessera;

/// Beyond this multiple of the limit no size is tried: no phase saves as much.
static constexpr int64_t hopeless = 2;

/// No axis is longer.
static constexpr int64_t mostUnits = int64_t(1) << 40;

std::optional<int64_t> LargestSize::bytesOf(int64_t count) {
  if (count == 0) return 0; // not planned: it stands for the case that nothing fits
  auto [entry, isNew] = planned.try_emplace(count);
  if (isNew) entry->second = bytesWith(count * range.unit);
  return entry->second;
}

bool LargestSize::fits(int64_t count) {
  std::optional<int64_t> bytes = bytesOf(count);
  return bytes && *bytes <= limit;
}

int64_t LargestSize::between(int64_t fitting, int64_t tooLarge) {
  return largestBatch({fitting, bytesOf(fitting)}, {tooLarge, bytesOf(tooLarge)}, limit,
                      [&](int64_t count) { return bytesOf(count); });
}

/// The power of two below the size at which the line through two neighbours meets the limit; 0 if it does not rise.
int64_t LargestSize::guessFrom(int64_t count) {
  double at = static_cast<double>(*bytesOf(count)), rise = at - static_cast<double>(*bytesOf(count - 1));
  double more = rise > 0 ? std::max(0.0, (static_cast<double>(limit) - at) / rise) : 0;
  return llvm::bit_floor(static_cast<uint64_t>(count) + static_cast<uint64_t>(std::min(more, 1e9)));
}

/// A size above `fitting` that does not fit: one that was planned, or the first of its doubles. Its predecessor fits,
/// too. Doubles that fit take its place.
int64_t LargestSize::tooLargeAbove(int64_t &fitting) {
  for (auto entry = planned.upper_bound(fitting); entry != planned.end(); ++entry)
    if (!fits(entry->first)) return entry->first;
  int64_t count = std::max(2 * fitting, guessFrom(fitting));
  for (; count < mostUnits && fits(count); count *= 2) fitting = count;
  return count;
}

/// One of the doubles that fits; those that are hopeless are not tried.
std::optional<int64_t> LargestSize::fittingDouble(int64_t count) {
  for (count *= 2; count < mostUnits; count *= 2) {
    std::optional<int64_t> bytes = bytesOf(count);
    if (bytes && *bytes <= limit) return count;
    if (!bytes || *bytes / hopeless >= limit) break;
  }
  return std::nullopt;
}

/// The next multiple of a power of two that fits, of the largest such power.
std::optional<int64_t> LargestSize::fittingRounder(int64_t count) {
  for (int64_t power = llvm::bit_floor(static_cast<uint64_t>(count)); power > 1; power /= 2)
    if (int64_t rounder = (count / power + 1) * power; fits(rounder)) return rounder;
  return std::nullopt;
}

/// A size up to `count` that fits; 0 if none does.
int64_t LargestSize::anyUpTo(int64_t count) {
  if (fits(count)) return count;
  if (int64_t found = between(0, count)) return found;
  // The model may refuse the smallest sizes, as the variance of one row.
  for (int64_t small = 2; small < count; small *= 2)
    if (fits(small)) return small;
  return 0;
}

int64_t LargestSize::find() {
  int64_t count = anyUpTo(range.start / range.unit);
  if (count == 0) return 0;
  for (;;) {
    if (fits(count + 1)) {
      int64_t fitting = count + 1, tooLarge = tooLargeAbove(fitting);
      count = between(fitting, tooLarge);
    }
    std::optional<int64_t> beyond = fittingDouble(count);
    if (!beyond) beyond = fittingRounder(count);
    if (!beyond) return count * range.unit;
    count = *beyond;
  }
}
