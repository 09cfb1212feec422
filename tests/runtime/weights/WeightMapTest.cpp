// The notation of maps: what it means, and errors with their places.

#include "runtime/weights/WeightMap.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

#include <random>

using namespace tessera::runtime;

namespace {

std::string errorOf(const std::string &text) {
  try {
    parseWeightMap(text, "m");
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(WeightMap, ReadsLines) {
  WeightMap map = parseWeightMap("# a comment\n\n"
                                 "optional prefix \"model.\"   # and another\n"
                                 "\"h.{layer}.c_attn\" [embed, (3, head,\n  hd)] = h.{layer}.attn.{wq, wk,\n  wv}\r\n"
                                 "tied \"head\" [vocab,embed]=wte\n"
                                 "\"scale\" [] = s\n"
                                 "ignore \"**.bias\"",
                                 "m");
  EXPECT_EQ(map.prefix, "model.");
  EXPECT_EQ(map.ignored, std::vector<std::string>{"**.bias"});
  ASSERT_EQ(map.lines.size(), 3u);
  EXPECT_EQ(map.lines[0].where, "m:4:1");
  EXPECT_EQ(map.lines[0].notation, "[embed, (3, head, hd)]");
  EXPECT_EQ(map.lines[0].paths, (std::vector<std::string>{"h.attn.wq", "h.attn.wk", "h.attn.wv"}));
  ASSERT_EQ(map.lines[0].parts.size(), 3u);
  EXPECT_TRUE(map.lines[0].parts[1].isPlaceholder);
  EXPECT_EQ(map.lines[0].parts[2].text, ".c_attn");
  EXPECT_TRUE(map.lines[1].isTied);
  EXPECT_EQ(map.lines[1].paths, std::vector<std::string>{"wte"});
  EXPECT_EQ(map.lines[2].notation, "[]");
}

TEST(WeightMap, LeavesPlaceholdersOutOfPaths) {
  for (const char *path : {"h.{layer}.w", "{layer}.h.w", "h.w.{layer}", "h.w"})
    EXPECT_EQ(parseWeightMap(std::string("\"t{layer}\" [a] = ") + path, "m").lines[0].paths[0], "h.w") << path;
  EXPECT_EQ(parseWeightMap("\"t.{a}.{b}\" [2] = h.{a}.{b}.w{q, k.x}", "m").lines[0].paths,
            (std::vector<std::string>{"h.wq", "h.wk.x"}));
}

TEST(WeightMap, ErrorsNameThePlace) {
  struct Case {
    const char *text, *error;
  };
  for (auto [text, error] : {
           Case{"x", "m:1:1: expected a tensor in quotes, `tied`, `ignore` or `optional prefix`, got `x`"},
           {"[", "m:1:1: expected a tensor in quotes, `tied`, `ignore` or `optional prefix`, got `[`"},
           {"# é\n  \"a\" x", "m:2:7: expected `[`, got `x`"},
           {"\"a\n\"", "m:1:1: the quote is not closed on its line"},
           {"\"\" [] = w", "m:1:1: expected a name between the quotes"},
           {"\"é\" [] = w", "m:1:2: names of tensors consist of printable ASCII characters"},
           {"\"a\" [a = w", "m:1:8: expected `]`, got `=`"},
           {"\"a\" [(a] = w", "m:1:8: expected `)`, got `]`"},
           {"\"a\" [a,] = w", "m:1:8: expected an axis or a number, got `]`"},
           {"\"a\" [a, (b, a)] = w", "m:1:13: the axis `a` occurs twice"},
           {"\"a.{b}\" [b] = w", "m:1:10: the axis `b` occurs twice"},
           {"\"a.{b}.{b}\" [] = w", "m:1:8: the placeholder {b} occurs twice"},
           {"\"a.{b\" [] = w", "m:1:4: expected the name of one axis in braces, such as {layer}"},
           {"\"a.{b, c}\" [] = w", "m:1:4: expected the name of one axis in braces, such as {layer}"},
           {"\"a}\" [] = w", "m:1:3: `}` without `{`"},
           {"\"a\" [0] = w", "m:1:6: expected a number of at least 1, got 0"},
           {"\"a\" [99999999999999999999] = w", "m:1:6: at most 1000000 parameters share a tensor"},
           {"\"a\" [3, a] = w",
            "m:1:5: expected no number but 1 among the axes: the path on the right names 1 parameter"},
           {"\"a\" [a] = {q, k}", "m:1:5: expected the number 2 once among the axes: the path on the right names 2 "},
           {"\"a\" [3, a] = {q, k}", "m:1:5: expected the number 2 once among the axes"},
           {"\"a\" [2, 2] = {q, k}", "m:1:5: expected the number 2 once among the axes"},
           {"\"a\" [a] w", "m:1:9: expected `=`, got `w`"},
           {"\"a\" [a] =", "m:1:10: expected the path of a parameter, such as h.attn.wq, got the end of the file"},
           {"\"a\" [a] = h..w", "m:1:11: expected the path of a parameter, such as h.attn.wq, got `h..w`"},
           {"\"a\" [a] = h.{layer}.w", "m:1:13: the name on the left has no placeholder {layer}"},
           {"\"a{b}\" [a] = h{b}.w", "m:1:15: a placeholder in a path is between dots, as in h.{layer}.w"},
           {"\"a\" [2, 2] = {q, k}.{a, b}", "m:1:21: a path has alternatives in one place"},
           {"\"a\" [a] = w \"b\" [b] = v", "m:1:13: expected the end of the line, got `\"`"},
           {"optional w", "m:1:10: expected `optional prefix`"},
           {"optional prefix \"a\"\noptional prefix \"b\"",
            "m:2:10: a map has one `optional prefix`; this is the second"},
           {"ignore \"rnn.bias_hh_l*\"", "m:1:8: `*` stands for a whole name and `**` for any number of names, but "
                                         "'bias_hh_l*' has other characters beside it"},
           {"\"rnn.b*\" [] = w", "m:1:7: `*` is for `ignore`; a placeholder, as {layer}, stands for the indices"},
           {"optional prefix \"*.\"", "m:1:18: `*` is for `ignore`"},
           {"ignore w", "m:1:8: expected `\"`, got `w`"},
       }) {
    std::string got = errorOf(text);
    EXPECT_EQ(got.substr(0, std::string(error).size()), error) << text;
  }
}

TEST(WeightMap, MutatedMapsAreReadOrRefused) {
  std::string good =
      "optional prefix \"m.\"\n\"h.{l}.w\" [a, (3, b)] = h.{l}.{q, k, v}\ntied \"x\" [a] = y\nignore \"*\"\n";
  ASSERT_EQ(errorOf(good), "");
  std::mt19937 random(5);
  const std::string interesting = "\"[](){},.=#\n *a1";
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 3; ++i) {
      size_t at = random() % bad.size();
      if (random() % 3 == 0)
        bad.erase(at, 1 + random() % 4);
      else
        bad.insert(at, 1, random() % 4 ? interesting[random() % interesting.size()] : char(random()));
    }
    std::string error = errorOf(bad);
    if (error.empty()) continue;
    ++refused;
    EXPECT_EQ(error.substr(0, 2), "m:") << bad;
  }
  EXPECT_GT(refused, 1000);
}

TEST(WeightMap, BuiltinMapsAreRead) {
  ASSERT_EQ(builtinMaps().size(), 2u);
  for (const char *name : {"hf:gpt2", "hf:llama"}) EXPECT_GT(readWeightMap(name).lines.size(), 5u) << name;
  try {
    readWeightMap("hf:bert");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "--map hf:bert: there is no such map; expected a file or one of hf:gpt2, hf:llama");
  }
  EXPECT_THROW(readWeightMap("nowhere.map"), Error);
}

} // namespace
