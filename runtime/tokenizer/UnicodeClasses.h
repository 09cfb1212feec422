//===- UnicodeClasses.h - letters, numbers and spaces ---------------------===//

#ifndef TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H
#define TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H

#include <optional>
#include <string>
#include <string_view>

namespace tessera::runtime {

/// \p{L}: letters.
bool isLetter(char32_t c);

/// \p{N}: digits and other numbers.
bool isNumber(char32_t c);

/// \s: White_Space.
bool isSpace(char32_t c);

/// The characters of a text in UTF-8; none if it is malformed, then `malformed` is the first such byte.
std::optional<std::u32string> decodeUtf8(std::string_view text, size_t &malformed);

/// Appends a character in UTF-8.
void appendUtf8(std::string &text, char32_t c);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H
