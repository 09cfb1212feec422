// Text from files is printed without characters that a terminal obeys.

#include "runtime/base/Printable.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("plain, ünïcode, ❤"), "plain, ünïcode, ❤");
  EXPECT_EQ(printable("\x1b[2Jgone\r\n\x7f"), "\\x1b[2Jgone\\x0d\\x0a\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J"); // CSI in one character
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "txt.exe"),
            "\\xe2\\x80\\xaetxt.exe"); // from right to left
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");          // overlong ESC
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // half of a surrogate pair
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");
}

TEST(Printable, ShortensAtACharacter) {
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("abü", 3), "ab…");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_EQ(printable(std::string(20'000, 'a')).size(), 20'000u);
}

TEST(Printable, MessagesKeepTheirLines) { EXPECT_EQ(printableLines("a\n\tb\x1b"), "a\n\tb\\x1b"); }

// Whatever an argument of a message quotes, its lines are those of the format.
TEST(Printable, ArgumentsOfErrorsAre) {
  try {
    fail("{}:\n{} {}", "a\033b", std::string("c\nd"), 3);
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "a\\x1bb:\nc\\x0ad 3");
  }
  try {
    fail("{}", printable("a\033b")); // is escaped once
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "a\\x1bb");
  }
  try {
    fail("{}", std::string(1 << 20, 'a'));
  } catch (const Error &e) {
    EXPECT_EQ(std::string_view(e.what()).size(), longestArgument + std::string_view("…").size());
  }
}

} // namespace
