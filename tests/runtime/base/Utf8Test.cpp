// One decoder: for messages and for tokens.

#include "runtime/base/Utf8.h"
#include "runtime/base/Printable.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(Utf8, IsDecodedOrRefused) {
  size_t malformed = 0;
  std::string text = "aé五😀";
  std::optional<std::u32string> characters = decodeUtf8(text, malformed);
  ASSERT_TRUE(characters);
  EXPECT_EQ(*characters, U"aé五😀");
  std::string again;
  for (char32_t c : *characters) appendUtf8(again, c);
  EXPECT_EQ(again, text);
  for (std::string bad : {"a\x80", "a\xc3", "a\xc0\x80", "a\xe0\x80\x80", "a\xed\xa0\x80", "a\xf0\x80\x80\x80",
                          "a\xf4\x90\x80\x80", "a\xf5\x80\x80\x80", "a\xff"}) {
    EXPECT_FALSE(decodeUtf8(bad, malformed)) << bad;
    EXPECT_EQ(malformed, 1u);
    EXPECT_TRUE(printable(bad).starts_with("a\\x")) << bad;
  }
}

} // namespace
