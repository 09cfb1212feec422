//===- BatchSearch.cpp - the largest batch that fits into memory ------------===//
//
// A bisection. The first guesses are where the line through the two last plans meets the limit: if memory is linear,
// the third or fourth plan ends the search.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/BatchSearch.h"
#include <algorithm>

using namespace tessera;

/// Guesses by lines; after these, halves.
static constexpr int lineGuesses = 4;

/// Where the line through two plans meets the limit; none if it does not rise.
static std::optional<double> rowsAtLimit(BatchMemory a, BatchMemory b, int64_t limit) {
  if (!a.bytes || !b.bytes) return std::nullopt;
  double rise = static_cast<double>(*b.bytes - *a.bytes), run = static_cast<double>(b.rows - a.rows);
  if (rise * run <= 0) return std::nullopt;
  return static_cast<double>(a.rows) + static_cast<double>(limit - *a.bytes) * run / rise;
}

int64_t tessera::largestBatch(BatchMemory fitting, BatchMemory tooLarge, int64_t limit, BytesOfRows bytesWith) {
  int64_t fits = fitting.rows, fails = tooLarge.rows;
  BatchMemory before = fitting, last = tooLarge;
  for (int guesses = 0; fails - fits > 1; ++guesses) {
    std::optional<double> line;
    if (guesses < lineGuesses) line = rowsAtLimit(before, last, limit);
    double guess = line.value_or(static_cast<double>(fits + fails) / 2);
    auto least = static_cast<double>(fits + 1), most = static_cast<double>(fails - 1);
    auto rows = static_cast<int64_t>(std::clamp(guess, least, most));
    std::optional<int64_t> bytes = bytesWith(rows);
    (bytes && *bytes <= limit ? fits : fails) = rows;
    if (bytes) before = last, last = {rows, bytes};
  }
  return fits;
}
