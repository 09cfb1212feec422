//===- BytePairs.cpp - byte-pair encoding ---------------------------------===//
//
// A word is a list of tokens, at first one for each byte. The pair that was learned first is merged until no pair of
// neighbours is known. Candidates are in a queue, so that a word of n bytes takes O(n log n) time.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/BytePairs.h"

#include "runtime/base/Utf8.h"

#include <array>
#include <map>
#include <queue>

namespace tessera::runtime {

/// Each byte as a printable character: itself where it is one in Latin-1, else the next from U+0100 on.
static std::map<char32_t, char> spellings() {
  std::map<char32_t, char> bytes;
  char32_t next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    bool isPrintable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    bytes[isPrintable ? byte : next++] = static_cast<char>(byte);
  }
  return bytes;
}

std::optional<std::string> bytesOfSpelling(std::string_view spelling) {
  static const std::map<char32_t, char> known = spellings();
  size_t malformed = 0;
  std::optional<std::u32string> characters = decodeUtf8(spelling, malformed);
  if (!characters) return std::nullopt;
  std::string bytes;
  for (char32_t c : *characters) {
    auto found = known.find(c);
    if (found == known.end()) return std::nullopt;
    bytes += found->second;
  }
  return bytes;
}

/// Options of the model that change an encoding, with the values that they may have.
static void checkOptions(const nlohmann::json &model, const std::string &where) {
  for (const auto &[key, value] : model.items()) {
    bool isKnown = key == "vocab" || key == "merges" || key == "unk_token" || key == "fuse_unk";
    bool isOff = value.is_null() || value == false || value == "" || value == 0;
    if (key == "type" && value != "BPE")
      fail("{}: a tokenizer of type {}; expected BPE", where, printable(value.dump(), 40));
    if (key == "ignore_merges" && !value.is_boolean() && !value.is_null())
      fail("{}: ignore_merges: expected true or false", where);
    if (!isKnown && key != "type" && key != "ignore_merges" && !isOff)
      fail("{}: {} = {} is not supported", where, printable(key, 40), printable(value.dump(), 40));
  }
}

BytePairs::BytePairs(const nlohmann::json &model, const std::string &path) : where(path + ": model") {
  if (!model.is_object()) fail("{}: expected an object", where);
  checkOptions(model, where);
  if (auto ignore = model.find("ignore_merges"); ignore != model.end()) ignoreMerges = *ignore == true;
  readVocabulary(member(model, "vocab", where));
  const nlohmann::json &list = member(model, "merges", where);
  if (!list.is_array()) fail("{}: merges: expected an array", where);
  int32_t rank = 0;
  for (const nlohmann::json &merge : list) readMerge(merge, rank++);
}

void BytePairs::readVocabulary(const nlohmann::json &vocabulary) {
  if (!vocabulary.is_object()) fail("{}: vocab: expected an object", where);
  for (const auto &[spelling, value] : vocabulary.items()) {
    std::string place = fmt::format("{}: vocab: '{}'", where, printable(spelling, 60));
    int64_t id = asInteger(value, place);
    if (id < 0 || id > INT32_MAX) fail("{}: expected an id from 0 to {}, got {}", place, INT32_MAX, id);
    std::optional<std::string> bytes = bytesOfSpelling(spelling);
    if (!textOf.emplace(static_cast<int32_t>(id), bytes.value_or(spelling)).second)
      fail("{}: another token has the id {}, too", place, id);
    if (bytes) idOf.emplace(*bytes, static_cast<int32_t>(id));
  }
}

int32_t BytePairs::tokenOf(const std::string &spelling, const std::string &place) const {
  std::optional<std::string> bytes = bytesOfSpelling(spelling);
  auto found = bytes ? idOf.find(*bytes) : idOf.end();
  if (found == idOf.end()) fail("{}: '{}' is not in the vocabulary", place, printable(spelling, 60));
  return found->second;
}

/// "a b" or ["a", "b"].
void BytePairs::readMerge(const nlohmann::json &merge, int32_t rank) {
  std::string place = fmt::format("{}: merges[{}]", where, rank), left, right;
  if (merge.is_string()) {
    std::string text = merge.get<std::string>();
    size_t space = text.find(' ');
    if (space == text.npos || text.find(' ', space + 1) != text.npos)
      fail("{}: expected two tokens with a space between them, got '{}'", place, printable(text, 60));
    left = text.substr(0, space), right = text.substr(space + 1);
  } else {
    if (!merge.is_array() || merge.size() != 2) fail("{}: expected two tokens", place);
    left = asString(merge[0], place), right = asString(merge[1], place);
  }
  int32_t first = tokenOf(left, place), second = tokenOf(right, place);
  merges[pairOf(first, second)] = {rank, tokenOf(left + right, place)};
}

namespace {
/// Two neighbours that may be merged.
struct MergeCandidate {
  int32_t rank;
  size_t at; ///< of the left one
  int32_t left, right, merged;
  /// The first in a queue is that of the lowest rank, then the leftmost.
  bool operator<(const MergeCandidate &other) const { return std::pair(other.rank, other.at) < std::pair(rank, at); }
};
} // namespace

void BytePairs::encode(std::string_view word, std::vector<int32_t> &tokens) const {
  if (auto whole = idOf.find(std::string(word)); ignoreMerges && whole != idOf.end())
    return tokens.push_back(whole->second);
  size_t count = word.size();
  std::vector<int32_t> ids(count + 1, -1); // -1: merged into the one before, or the end
  std::vector<size_t> next(count), previous(count);
  for (size_t i = 0; i < count; ++i) {
    auto found = idOf.find(std::string(1, word[i]));
    if (found == idOf.end())
      fail("{}: the vocabulary has no token for the byte 0x{:02x}", where, static_cast<unsigned char>(word[i]));
    ids[i] = found->second, next[i] = i + 1, previous[i] = i - 1; // the first has none before it: SIZE_MAX
  }
  std::priority_queue<MergeCandidate> queue;
  auto consider = [&](size_t at) {
    if (at >= count || next[at] >= count) return;
    auto merge = merges.find(pairOf(ids[at], ids[next[at]]));
    if (merge != merges.end()) queue.push({merge->second.rank, at, ids[at], ids[next[at]], merge->second.merged});
  };
  for (size_t i = 0; i < count; ++i) consider(i);
  while (!queue.empty()) {
    MergeCandidate best = queue.top();
    queue.pop();
    size_t right = ids[best.at] == best.left ? next[best.at] : count;
    if (right >= count || ids[right] != best.right) continue; // one of them was merged meanwhile
    ids[best.at] = best.merged, ids[right] = -1;
    next[best.at] = next[right];
    if (next[right] < count) previous[next[right]] = best.at;
    consider(previous[best.at]);
    consider(best.at);
  }
  for (size_t i = 0; i < count; i = next[i]) tokens.push_back(ids[i]);
}

} // namespace tessera::runtime
