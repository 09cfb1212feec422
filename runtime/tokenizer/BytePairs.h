//===- BytePairs.h - byte-pair encoding -----------------------------------===//

#ifndef TESSERA_RUNTIME_TOKENIZER_BYTEPAIRS_H
#define TESSERA_RUNTIME_TOKENIZER_BYTEPAIRS_H

#include "runtime/base/Json.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace tessera::runtime {

/// The bytes of a token that `tokenizer.json` spells with a printable character for each byte; none if it has other
/// characters.
std::optional<std::string> bytesOfSpelling(std::string_view spelling);

/// Tokens of bytes, and the pairs of tokens that are merged, in order.
class BytePairs {
public:
  /// `model` of a tokenizer.json. Throws an Error for what is not byte-level BPE; `where` names the file.
  BytePairs(const nlohmann::json &model, const std::string &where);

  /// Appends the tokens of a word. Throws an Error if a byte has no token.
  void encode(std::string_view word, std::vector<int32_t> &tokens) const;

  /// The bytes of each token; a token that is not spelled in bytes is its own text.
  const std::unordered_map<int32_t, std::string> &texts() const { return textOf; }

private:
  struct Merge {
    int32_t rank, merged;
  };
  static uint64_t pairOf(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  void readVocabulary(const nlohmann::json &vocabulary);
  void readMerge(const nlohmann::json &merge, int32_t rank);
  int32_t tokenOf(const std::string &spelling, const std::string &place) const;

  std::string where;
  bool ignoreMerges = false;                     ///< a word that is a token is not divided
  std::unordered_map<std::string, int32_t> idOf; ///< by bytes
  std::unordered_map<int32_t, std::string> textOf;
  std::unordered_map<uint64_t, Merge> merges;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TOKENIZER_BYTEPAIRS_H
