//===- WordSplit.h - divides text into words ------------------------------===//
//
// Byte-pair encoding merges bytes within words only. The rules are those of the regular expressions of GPT-2 and
// LLaMA 3, open-coded: no other expression is supported.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TOKENIZER_WORDSPLIT_H
#define TESSERA_RUNTIME_TOKENIZER_WORDSPLIT_H

#include <string_view>
#include <vector>

namespace tessera::runtime {

using Word = std::u32string_view;

/// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::vector<Word> splitAsGpt2(Word text);

/// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
/// `digits`: the longest number, 3 above.
std::vector<Word> splitAsLlama3(Word text, size_t digits);

/// Each number character, or run of them, apart from the text around it.
std::vector<Word> splitDigits(Word text, bool individually);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TOKENIZER_WORDSPLIT_H
