//===- Printable.cpp - text from files, for a message ---------------------===//

#include "runtime/base/Printable.h"

#include <utility>

namespace tessera::runtime {

/// The bytes of the UTF-8 character at the beginning of `text`, and the character; no bytes if it is not valid.
static std::pair<size_t, char32_t> firstCharacter(std::string_view text) {
  unsigned char first = text[0];
  if (first < 0x80) return {1, first};
  size_t size = first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
  if (size == 0 || text.size() < size) return {0, 0};
  char32_t character = first & (0x7f >> size);
  for (unsigned char byte : text.substr(1, size - 1)) {
    if (byte >> 6 != 2) return {0, 0};
    character = character << 6 | (byte & 0x3f);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // of that many bytes; below, the form is overlong
  bool isSurrogate = character >= 0xd800 && character < 0xe000;
  return character < least[size] || character > 0x10ffff || isSurrogate ? std::pair<size_t, char32_t>(0, 0)
                                                                        : std::pair(size, character);
}

/// Whether a terminal would obey the character instead of showing it.
static bool isControl(char32_t c) {
  bool isDirection =
      c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || isDirection;
}

static void escape(std::string_view bytes, std::string &out) {
  constexpr const char *digits = "0123456789abcdef";
  for (unsigned char byte : bytes) ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
}

/// `layout`: the control characters that remain.
static std::string escapeControls(std::string_view text, std::string_view layout) {
  std::string result;
  while (!text.empty()) {
    auto [size, character] = firstCharacter(text);
    std::string_view bytes = text.substr(0, size > 0 ? size : 1);
    bool isLayout = layout.find(text[0]) != std::string_view::npos;
    if (size == 0 || (isControl(character) && !isLayout))
      escape(bytes, result);
    else
      result += bytes;
    text.remove_prefix(bytes.size());
  }
  return result;
}

std::string printable(std::string_view text, size_t longest) {
  if (text.size() <= longest) return escapeControls(text, "");
  while (longest > 0 && (text[longest] & 0xc0) == 0x80) --longest; // not inside of a character
  return escapeControls(text.substr(0, longest), "") + "…";
}

std::string printableLines(std::string_view text) { return escapeControls(text, "\n\t"); }

} // namespace tessera::runtime
