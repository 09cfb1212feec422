//===- WordSplit.cpp - divides text into words ----------------------------===//
//
// Each function `…Length` returns how many characters one alternative of the regular expression matches at a place; 0:
// it does not match. Alternatives are tried in their order, the first match is taken, and repetitions are greedy.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/WordSplit.h"

#include "runtime/tokenizer/UnicodeClasses.h"

#include <algorithm>
#include <initializer_list>

namespace tessera::runtime {

static bool isLineEnd(char32_t c) { return c == '\r' || c == '\n'; }

static bool isOther(char32_t c) { return !isSpace(c) && !isLetter(c) && !isNumber(c); }

template <typename Predicate> static size_t runLength(Word text, Predicate holds) {
  return std::find_if_not(text.begin(), text.end(), holds) - text.begin();
}

/// ` ?X+`
template <typename Predicate> static size_t spacedLength(Word text, Predicate holds) {
  if (text[0] == ' ')
    if (size_t length = runLength(text.substr(1), holds)) return length + 1;
  return runLength(text, holds);
}

/// 's|'t|'re|'ve|'m|'ll|'d
static size_t contractionLength(Word text, bool anyCase) {
  if (text[0] != '\'') return 0;
  auto lower = [&](size_t i) -> char32_t {
    if (i >= text.size()) return 0;
    char32_t c = text[i];
    if (anyCase && c >= 'A' && c <= 'Z') return c + ('a' - 'A');
    return anyCase && c == 0x17f ? U's' : c; // the long s is a lower-case s
  };
  for (char32_t c : {U's', U't', U'm', U'd'})
    if (lower(1) == c) return 2;
  for (std::u32string_view ending : {U"re", U"ve", U"ll"})
    if (lower(1) == ending[0] && lower(2) == ending[1]) return 3;
  return 0;
}

/// \s+(?!\S)|\s+: of a run before other characters, the last space belongs to the next word.
static size_t spaceLength(Word text) {
  size_t length = runLength(text, isSpace);
  return length > 1 && length < text.size() ? length - 1 : length;
}

/// \s*[\r\n]+: up to the last end of line in a run of spaces.
static size_t linesLength(Word text) {
  size_t length = runLength(text, isSpace);
  while (length > 0 && !isLineEnd(text[length - 1])) --length;
  return length;
}

/// [^\r\n\p{L}\p{N}]?\p{L}+
static size_t lettersLength(Word text) {
  if (!isLineEnd(text[0]) && !isLetter(text[0]) && !isNumber(text[0])) {
    size_t length = runLength(text.substr(1), isLetter);
    return length > 0 ? length + 1 : 0;
  }
  return runLength(text, isLetter);
}

/// ` ?[^\s\p{L}\p{N}]+[\r\n]*`
static size_t otherLength(Word text) {
  size_t length = spacedLength(text, isOther);
  return length > 0 ? length + runLength(text.substr(length), isLineEnd) : 0;
}

static size_t gpt2Length(Word text) {
  if (size_t length = contractionLength(text, /*anyCase=*/false)) return length;
  if (size_t length = spacedLength(text, isLetter)) return length;
  if (size_t length = spacedLength(text, isNumber)) return length;
  if (size_t length = spacedLength(text, isOther)) return length;
  return spaceLength(text);
}

static size_t llama3Length(Word text, size_t digits) {
  if (size_t length = contractionLength(text, /*anyCase=*/true)) return length;
  if (size_t length = lettersLength(text)) return length;
  if (size_t length = std::min(runLength(text, isNumber), digits)) return length;
  if (size_t length = otherLength(text)) return length;
  if (size_t length = linesLength(text)) return length;
  return spaceLength(text);
}

/// Cuts words off the text; `lengthOf` is at least 1.
template <typename LengthOf> static std::vector<Word> split(Word text, LengthOf lengthOf) {
  std::vector<Word> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, lengthOf(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

std::vector<Word> splitAsGpt2(Word text) { return split(text, gpt2Length); }

std::vector<Word> splitAsLlama3(Word text, size_t digits) {
  return split(text, [&](Word rest) { return llama3Length(rest, digits); });
}

std::vector<Word> splitDigits(Word text, bool individually) {
  return split(text, [&](Word rest) -> size_t {
    if (!isNumber(rest[0])) return runLength(rest, [](char32_t c) { return !isNumber(c); });
    return individually ? 1 : runLength(rest, isNumber);
  });
}

} // namespace tessera::runtime
