//===- Utf8.h - characters of text in UTF-8 -------------------------------===//
//
// The compiler uses this too: it depends on the C++ library only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_UTF8_H
#define TESSERA_RUNTIME_BASE_UTF8_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::runtime {

/// The first character of a text that is not empty, and its bytes: 0 if it is malformed, overlong or a surrogate.
std::pair<size_t, char32_t> firstCharacter(std::string_view text);

/// The characters of a text; none if it is malformed, then `malformed` is the first such byte.
std::optional<std::u32string> decodeUtf8(std::string_view text, size_t &malformed);

/// Appends a character.
void appendUtf8(std::string &text, char32_t c);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_UTF8_H
