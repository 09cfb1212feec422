//===- UnicodeClasses.cpp - letters, numbers and spaces -------------------===//

#include "runtime/tokenizer/UnicodeClasses.h"

#include <algorithm>
#include <iterator>

namespace tessera::runtime {

namespace {
/// The characters from `first` to `last`.
struct CodeRange {
  char32_t first, last;
};
} // namespace

static constexpr CodeRange letters[] = {
#include "runtime/tokenizer/Letters.inc"
};

static constexpr CodeRange numbers[] = {
#include "runtime/tokenizer/Numbers.inc"
};

template <size_t count> static bool contains(const CodeRange (&ranges)[count], char32_t c) {
  const CodeRange *after = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                            [](char32_t c, const CodeRange &range) { return c < range.first; });
  return after != std::begin(ranges) && c <= after[-1].last;
}

bool isLetter(char32_t c) { return contains(letters, c); }

bool isNumber(char32_t c) { return contains(numbers, c); }

bool isSpace(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

} // namespace tessera::runtime
