//===- Utf8.cpp - characters of text in UTF-8 -----------------------------===//

#include "runtime/base/Utf8.h"

namespace tessera::runtime {

std::pair<size_t, char32_t> firstCharacter(std::string_view text) {
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

std::optional<std::u32string> decodeUtf8(std::string_view text, size_t &malformed) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    auto [bytes, character] = firstCharacter(text.substr(at));
    if (bytes == 0) return malformed = at, std::nullopt;
    result += character;
    at += bytes;
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
