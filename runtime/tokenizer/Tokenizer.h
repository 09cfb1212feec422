//===- Tokenizer.h - text as tokens, and back -----------------------------===//
//
// Reads `tokenizer.json` of Hugging Face's libraries for byte-level BPE, as GPT-2 and LLaMA 3 have it. Whatever in the
// file would change an encoding and is not known here is an error, so that there is never another encoding than theirs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TOKENIZER_TOKENIZER_H
#define TESSERA_RUNTIME_TOKENIZER_TOKENIZER_H

#include "runtime/tokenizer/BytePairs.h"
#include "runtime/tokenizer/WordSplit.h"

#include <functional>

namespace tessera::runtime {

class Tokenizer {
public:
  /// Reads a file, or `tokenizer.json` in a folder.
  explicit Tokenizer(const std::string &path);

  /// The tokens of a text, with those that the file adds before and after. Throws an Error if it is not UTF-8.
  std::vector<int32_t> encode(std::string_view text) const;

  /// The bytes of a token, which may be a part of a character; U+FFFD for an id without a token.
  std::string decode(int32_t token) const;

  int32_t largestId() const { return largest; }

private:
  /// A token that is found in the text before words are.
  struct AddedToken {
    std::u32string content;
    int32_t id;
  };
  using Step = std::function<std::vector<Word>(Word)>;

  void read(const nlohmann::json &json);
  void readAddedTokens(const nlohmann::json &tokens);
  void readPreTokenizer(const nlohmann::json &step, bool isFirst);
  void readSplit(const nlohmann::json &step, const std::string &place);
  void readPostProcessor(const nlohmann::json &processor);
  void readTemplate(const nlohmann::json &processor, const std::string &place);
  void encodeSpans(Word text, size_t pass, std::vector<int32_t> &tokens) const;
  void encodeWords(Word text, std::vector<int32_t> &tokens) const;

  std::string where;
  std::optional<BytePairs> pairs;
  std::vector<AddedToken> added[2]; ///< those that are looked for first, then the others
  std::unordered_map<int32_t, std::string> addedTexts;
  std::vector<Step> steps; ///< each divides what the one before has left
  bool isByteLevel = false, addsSpace = false;
  std::vector<int32_t> before, after; ///< ids around every text
  int32_t largest = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TOKENIZER_TOKENIZER_H
