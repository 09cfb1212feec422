//===- JsonTest.cpp - the length of a member in a text --------------------===//

#include "runtime/base/Json.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

TEST(Json, MeasuresAMember) {
  std::string text = R"({"a":"memory","b":{"memory":[1,2]},"memory":{"x":[1.50,"}\",\\"],"y":{}},"c":"\"memory\":3"})";
  parseJson(text, "text");
  EXPECT_EQ(memberLength(text, "memory"), std::string(R"("memory":{"x":[1.50,"}\",\\"],"y":{}})").size());
  EXPECT_EQ(memberLength(text, "c"), std::string(R"("c":"\"memory\":3")").size());
  EXPECT_EQ(memberLength(text, "x"), 0u);
  EXPECT_EQ(memberLength("{}", "memory"), 0u);
  EXPECT_EQ(memberLength(R"({"memory":1})", "memory"), 10u);
}
