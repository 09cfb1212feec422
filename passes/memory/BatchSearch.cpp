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

/// Where the line through two plans meets the limit; 0 if it does not rise.
static double rowsAtLimit(BatchMemory a, BatchMemory b, int64_t limit) {
  double rise = static_cast<double>(b.bytes - a.bytes), run = static_cast<double>(b.rows - a.rows);
  if (rise * run <= 0) return 0;
  return static_cast<double>(a.rows) + static_cast<double>(limit - a.bytes) * run / rise;
}

int64_t tessera::largestBatch(BatchMemory tooLarge, int64_t limit,
                              llvm::function_ref<std::optional<int64_t>(int64_t rows)> bytesWith) {
  int64_t fits = 0, fails = tooLarge.rows;
  BatchMemory before{0, 0}, last = tooLarge;
  for (int guesses = 0; fails - fits > 1; ++guesses) {
    double guess = guesses < lineGuesses ? rowsAtLimit(before, last, limit) : static_cast<double>(fits + fails) / 2;
    auto least = static_cast<double>(fits + 1), most = static_cast<double>(fails - 1);
    auto rows = static_cast<int64_t>(std::clamp(guess, least, most));
    std::optional<int64_t> bytes = bytesWith(rows);
    (bytes && *bytes <= limit ? fits : fails) = rows;
    if (bytes) before = last, last = {rows, *bytes};
  }
  return fits;
}
