// Words as the regular expressions of GPT-2 and LLaMA 3 divide text.

#include "runtime/tokenizer/WordSplit.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/UnicodeClasses.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

/// The words with bars between them.
std::string joined(const std::vector<Word> &words) {
  std::string text;
  for (Word word : words) {
    if (!text.empty()) text += '|';
    for (char32_t c : word) appendUtf8(text, c);
  }
  return text;
}

TEST(WordSplit, Gpt2) {
  EXPECT_EQ(joined(splitAsGpt2(U"Hello world, it's 2024!")), "Hello| world|,| it|'s| 2024|!");
  EXPECT_EQ(joined(splitAsGpt2(U"a  b\n\n c ")), "a| | b|\n\n| c| ");
  EXPECT_EQ(joined(splitAsGpt2(U"we'll I'VE 'tis")), "we|'ll| I|'|VE| '|tis");
  EXPECT_EQ(joined(splitAsGpt2(U"\t\tx   ")), "\t|\t|x|   ");
  EXPECT_EQ(joined(splitAsGpt2(U"é² 五5½ …—")), "é|²| 五|5½| …—");
  EXPECT_EQ(joined(splitAsGpt2(U"")), "");
}

TEST(WordSplit, Llama3) {
  EXPECT_EQ(joined(splitAsLlama3(U"Hello world, it's 20245!", 3)), "Hello| world|,| it|'s| |202|45|!");
  EXPECT_EQ(joined(splitAsLlama3(U"a  b\r\n \n c ", 3)), "a| | b|\r\n \n| c| ");
  EXPECT_EQ(joined(splitAsLlama3(U"we'LL (ok).\n\nx", 3)), "we|'LL| (|ok|).\n\n|x");
  EXPECT_EQ(joined(splitAsLlama3(U"\tx_y 12", 1)), "\tx|_y| |1|2");
}

TEST(WordSplit, Digits) {
  EXPECT_EQ(joined(splitDigits(U"ab12c ½", true)), "ab|1|2|c |½");
  EXPECT_EQ(joined(splitDigits(U"ab12c", false)), "ab|12|c");
}

TEST(UnicodeClasses, HaveKnownMembers) {
  for (char32_t letter : {U'a', U'Z', U'é', U'ſ', U'中', U'ʰ', U'ª', char32_t(0x10000)}) EXPECT_TRUE(isLetter(letter));
  for (char32_t number : {U'0', U'²', U'½', U'Ⅷ', U'٣'}) EXPECT_TRUE(isNumber(number));
  for (char32_t other : {U'_', U'-', U'\u0301', U'€', U' ', char32_t(0x10ffff), char32_t(0)}) {
    EXPECT_FALSE(isLetter(other));
    EXPECT_FALSE(isNumber(other));
  }
  for (char32_t space : {U' ', U'\t', U'\n', U'\u00a0', U'\u3000', U'\u2009'}) EXPECT_TRUE(isSpace(space));
  EXPECT_FALSE(isSpace(U'\u200b')); // a space of no width has no White_Space
}

} // namespace
