// Patterns select paths as `optimize … on` and `--only` describe them.

#include "runtime/base/PathPattern.h"
#include "runtime/base/NearestWord.h"

#include <gtest/gtest.h>

using namespace tessera;

namespace {

TEST(PathPattern, StarIsOneNameTwoStarsAnyNumber) {
  EXPECT_TRUE(matchesPath("h.attn.wq", "h.attn.wq"));
  EXPECT_FALSE(matchesPath("h.attn", "h.attn.wq"));
  EXPECT_TRUE(matchesPath("h.*.wq", "h.attn.wq"));
  EXPECT_FALSE(matchesPath("h.*", "h.attn.wq"));
  EXPECT_FALSE(matchesPath("h.a*", "h.attn"));
  EXPECT_TRUE(matchesPath("**", "w"));
  EXPECT_TRUE(matchesPath("h.**", "h.attn.wq"));
  EXPECT_TRUE(matchesPath("**.wq", "wq"));
  EXPECT_TRUE(matchesPath("**.attn.**", "h.attn.wq"));
  EXPECT_FALSE(matchesPath("**.mlp.**", "h.attn.wq"));
}

TEST(PathPattern, StarsInsideOfNamesAreMistakes) {
  for (const char *good : {"*", "**", "h.*.wq", "**.bias", "h"}) EXPECT_EQ(misplacedStar(good), "") << good;
  for (const char *bad : {"wx*", "h.*_l.b", "***", "h.**x"}) EXPECT_NE(misplacedStar(bad), "") << bad;
}

TEST(PathPattern, ManyStarsTakeNoExponentialTime) {
  std::string pattern = "**", path = "a";
  for (int i = 0; i < 60; ++i) pattern += ".**.a", path += ".a";
  EXPECT_FALSE(matchesPath(pattern + ".b", path));
}

TEST(NearestWord, IsNearOrNothing) {
  EXPECT_EQ(runtime::nearestWord("sve.keep", {"save.keep", "stop.after"}), "save.keep");
  EXPECT_EQ(runtime::nearestWord("colour", {"save.keep", "stop.after"}), "");
}

} // namespace
