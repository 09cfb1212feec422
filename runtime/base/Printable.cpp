//===- Printable.cpp - text from files, for a message ---------------------===//

#include "runtime/base/Printable.h"

#include "runtime/base/Utf8.h"

namespace tessera::runtime {

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
