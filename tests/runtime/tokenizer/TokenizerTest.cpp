// Tokenizers of `tokenizer.json` encode as the package `tokenizers` does; what they do not know they refuse.

#include "runtime/tokenizer/Tokenizer.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <random>

using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// Cases that tokenizer_golden.py made.
class TokenizerGolden : public testing::TestWithParam<const char *> {};

TEST_P(TokenizerGolden, EncodesAndDecodes) {
  std::string path = fmt::format("{}/tests/runtime/tokenizer/{}.json", TESSERA_SOURCE_DIR, GetParam());
  nlohmann::json golden = nlohmann::json::parse(readFile(path));
  TemporaryFolder folder;
  Tokenizer tokenizer(folder.write("tokenizer.json", golden["tokenizer"].dump()));
  ASSERT_GT(golden["cases"].size(), 100u);
  for (const nlohmann::json &one : golden["cases"]) {
    std::string text = one[0];
    std::vector<int32_t> expected = one[1], tokens = tokenizer.encode(text);
    EXPECT_EQ(tokens, expected) << text;
    std::string decoded;
    for (int32_t token : tokens) decoded += tokenizer.decode(token);
    EXPECT_EQ(decoded, one[2].get<std::string>()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerGolden, testing::Values("gpt2", "llama3", "digits", "prefix"),
                         [](const auto &info) { return std::string(info.param); });

class TokenizerFile : public testing::Test {
protected:
  /// A tokenizer of three tokens with members replaced (a JSON merge patch).
  std::string errorOf(const std::string &patch) {
    nlohmann::json json = nlohmann::json::parse(R"({"version": "1.0", "truncation": null, "padding": null,
      "added_tokens": [{"id": 3, "content": "<end>", "single_word": false, "lstrip": false, "rstrip": false,
                        "normalized": false, "special": true}],
      "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
      "post_processor": null, "decoder": {"type": "ByteLevel"},
      "model": {"type": "BPE", "dropout": null, "unk_token": null, "vocab": {"a": 0, "b": 1, "ab": 2},
                "merges": ["a b"]}})");
    json.merge_patch(nlohmann::json::parse(patch));
    try {
      Tokenizer tokenizer(folder.write("t.json", json.dump()));
      EXPECT_EQ(tokenizer.encode("ab<end>ba"), (std::vector<int32_t>{2, 3, 1, 0}));
      tokenizer.encode("ax");
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }
  void expectError(const std::string &patch, const std::string &part) {
    std::string error = errorOf(patch);
    EXPECT_NE(error.find(part), std::string::npos) << part << ", got: " << error;
  }
  TemporaryFolder folder;
};

TEST_F(TokenizerFile, BytesWithoutTokensAreErrors) {
  expectError("{}", "t.json: model: the vocabulary has no token for the byte 0x78");
}

TEST_F(TokenizerFile, WhatIsNotKnownIsRefused) {
  expectError(R"({"surprise": 1})", "'surprise' is not supported");
  expectError(R"({"normalizer": {"type": "NFC"}})", "a tokenizer with 'normalizer' is not supported");
  expectError(R"({"truncation": {"max_length": 3}})", "a tokenizer with 'truncation' is not supported");
  expectError(R"({"model": {"type": "WordPiece"}})", "a tokenizer of type \"WordPiece\"; expected BPE");
  expectError(R"({"model": {"dropout": 0.1}})", "dropout = 0.1 is not supported");
  expectError(R"({"model": {"byte_fallback": true}})", "byte_fallback = true is not supported");
  expectError(R"({"model": {"end_of_word_suffix": "</w>"}})", "end_of_word_suffix = \"</w>\" is not supported");
  expectError(R"({"pre_tokenizer": {"type": "Whitespace"}})", "pre_tokenizer: the type Whitespace is not supported");
  expectError(R"({"pre_tokenizer": {"surprise": true}})", "pre_tokenizer: 'surprise' is not supported");
  expectError(R"({"pre_tokenizer": null})", "missing key 'pre_tokenizer'");
  expectError(R"({"pre_tokenizer": {"type": "Split", "add_prefix_space": null, "trim_offsets": null, "invert": false,
                 "behavior": "Isolated", "pattern": {"Regex": "\\s+"}}})",
              "the regular expression \\s+ is not supported");
  expectError(R"({"pre_tokenizer": {"type": "Digits", "add_prefix_space": null, "trim_offsets": null}})",
              "expected ByteLevel, alone or as the last of a Sequence");
  expectError(R"({"post_processor": {"type": "RobertaProcessing"}})", "the type RobertaProcessing is not supported");
  expectError(R"({"decoder": {"type": "Metaspace"}})", "decoder: expected ByteLevel");
  expectError(R"({"added_tokens": [{"id": 3, "content": "x", "lstrip": true}]})",
              "'x': lstrip = true is not supported");
}

TEST_F(TokenizerFile, MalformedFilesAreRefused) {
  expectError(R"({"model": {"vocab": {"c": -1}}})", "expected an id from 0 to");
  expectError(R"({"model": {"vocab": {"c": 1}}})", "another token has the id 1, too");
  expectError(R"({"model": {"vocab": {"c": "1"}}})", "expected an integer");
  expectError(R"({"model": {"merges": ["ab"]}})", "merges[0]: expected two tokens with a space between them, got 'ab'");
  expectError(R"({"model": {"merges": [["a"]]}})", "merges[0]: expected two tokens");
  expectError(R"({"model": {"merges": ["a c"]}})", "merges[0]: 'c' is not in the vocabulary");
  expectError(R"({"model": {"merges": ["b a"]}})", "merges[0]: 'ba' is not in the vocabulary");
  expectError(R"({"model": 3})", "model: expected an object");
  expectError(R"({"post_processor": {"type": "TemplateProcessing", "single": [], "special_tokens": {}}})",
              "expected one text, A");
  EXPECT_THROW(Tokenizer(folder.write("x.json", "{\"model\"")), Error);
  EXPECT_THROW(Tokenizer(folder / "nowhere.json"), Error);
}

TEST_F(TokenizerFile, TextMustBeUtf8) {
  nlohmann::json golden =
      nlohmann::json::parse(readFile(std::string(TESSERA_SOURCE_DIR) + "/tests/runtime/tokenizer/gpt2.json"));
  Tokenizer tokenizer(folder.write("tokenizer.json", golden["tokenizer"].dump()));
  EXPECT_THROW(tokenizer.encode("ab\xff"), Error);
  EXPECT_EQ(tokenizer.decode(1 << 30), "\xef\xbf\xbd");
  // A long word takes no quadratic time.
  EXPECT_GT(tokenizer.encode(std::string(300'000, 'e')).size(), 1000u);
}

TEST_F(TokenizerFile, MutatedFilesAreReadOrRefused) {
  nlohmann::json golden =
      nlohmann::json::parse(readFile(std::string(TESSERA_SOURCE_DIR) + "/tests/runtime/tokenizer/llama3.json"));
  std::string good = golden["tokenizer"].dump();
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 3; ++i) bad[random() % bad.size()] = char(random());
    try {
      Tokenizer tokenizer(folder.write("t.json", bad));
      tokenizer.encode("It's 2024, and all is well.");
    } catch (const Error &) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

} // namespace
