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

/// The bytes after the first one, and the smallest character that needs so many.
static int followers(unsigned char first, char32_t &least) {
  if (first < 0x80) return least = 0, 0;
  if (first >= 0xc2 && first < 0xe0) return least = 0x80, 1;
  if (first >= 0xe0 && first < 0xf0) return least = 0x800, 2;
  if (first >= 0xf0 && first < 0xf5) return least = 0x10000, 3;
  return -1;
}

std::optional<std::u32string> decodeUtf8(std::string_view text, size_t &malformed) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    malformed = at;
    char32_t least = 0;
    unsigned char first = text[at++];
    int more = followers(first, least);
    if (more < 0) return std::nullopt;
    char32_t c = more == 0 ? first : first & (0x3f >> more);
    for (; more > 0; --more) {
      if (at >= text.size() || (text[at] & 0xc0) != 0x80) return std::nullopt;
      c = c << 6 | (text[at++] & 0x3f);
    }
    if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return std::nullopt;
    result += c;
  }
  return result;
}

void appendUtf8(std::string &text, char32_t c) {
  auto add = [&](char32_t bits) { text += static_cast<char>(bits); };
  if (c < 0x80) return add(c);
  if (c < 0x800) {
    add(0xc0 | c >> 6);
  } else {
    if (c < 0x10000)
      add(0xe0 | c >> 12);
    else
      add(0xf0 | c >> 18), add(0x80 | (c >> 12 & 0x3f));
    add(0x80 | (c >> 6 & 0x3f));
  }
  add(0x80 | (c & 0x3f));
}

} // namespace tessera::runtime
