//===- UnicodeClasses.h - letters, numbers and spaces ---------------------===//

#ifndef TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H
#define TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H

namespace tessera::runtime {

/// \p{L}: letters.
bool isLetter(char32_t c);

/// \p{N}: digits and other numbers.
bool isNumber(char32_t c);

/// \s: White_Space.
bool isSpace(char32_t c);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TOKENIZER_UNICODECLASSES_H
