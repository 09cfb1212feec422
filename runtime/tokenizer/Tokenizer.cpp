//===- Tokenizer.cpp - text as tokens, and back ---------------------------===//

#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/base/MappedFile.h"
#include "runtime/base/Utf8.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace tessera::runtime {

/// Files for vocabularies of 256,000 tokens have 35 MB.
static constexpr size_t longestFile = 256 << 20;

/// The regular expressions that are known, as files have them.
static constexpr std::string_view gpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
static constexpr std::string_view llama3Start = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})";
static constexpr std::string_view llama3End = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

using Object = nlohmann::json;

/// Refuses members of an object that are not in the list: they might change an encoding.
static void checkKeys(const Object &object, std::initializer_list<std::string_view> known, const std::string &where) {
  if (!object.is_object()) fail("{}: expected an object", where);
  for (const auto &[key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail("{}: '{}' is not supported", where, printable(key, 40));
}

static bool isTrue(const Object &object, const char *key, bool missing) {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? missing : *found == true;
}

static std::string typeOf(const Object &object, const std::string &where) {
  return asString(member(object, "type", where), where + ": type");
}

Tokenizer::Tokenizer(const std::string &path) : where(path) {
  if (std::filesystem::is_directory(path)) where = path + "/tokenizer.json";
  MappedFile file(where);
  if (file.size() > longestFile) fail("{}: {} bytes, at most {} are read", where, file.size(), longestFile);
  read(parseSortedJson(file.text(), where, 0, /*maxDepth=*/16));
}

void Tokenizer::read(const Object &json) {
  checkKeys(json,
            {"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer", "post_processor",
             "decoder", "model"},
            where);
  for (const char *key : {"truncation", "normalizer"})
    if (auto found = json.find(key); found != json.end() && !found->is_null())
      fail("{}: a tokenizer with '{}' is not supported, only byte-level BPE as of GPT-2 and LLaMA 3", where, key);
  pairs.emplace(member(json, "model", where), where);
  for (const auto &[id, text] : pairs->texts()) largest = std::max(largest, id);
  if (auto tokens = json.find("added_tokens"); tokens != json.end() && !tokens->is_null()) readAddedTokens(*tokens);
  const Object &preTokenizer = member(json, "pre_tokenizer", where);
  if (!preTokenizer.is_null()) readPreTokenizer(preTokenizer, /*isFirst=*/true);
  if (!isByteLevel) fail("{}: pre_tokenizer: expected ByteLevel, alone or as the last of a Sequence", where);
  if (auto post = json.find("post_processor"); post != json.end() && !post->is_null()) readPostProcessor(*post);
  const Object &decoder = member(json, "decoder", where);
  if (typeOf(decoder, where + ": decoder") != "ByteLevel") fail("{}: decoder: expected ByteLevel", where);
}

void Tokenizer::readAddedTokens(const Object &tokens) {
  if (!tokens.is_array()) fail("{}: added_tokens: expected an array", where);
  for (const Object &token : tokens) {
    std::string place = fmt::format("{}: added_tokens", where);
    checkKeys(token, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}, place);
    std::string content = asString(member(token, "content", place), place);
    place += fmt::format(": '{}'", printable(content, 60));
    int64_t id = asInteger(member(token, "id", place), place);
    if (id < 0 || id > INT32_MAX) fail("{}: expected an id from 0 to {}, got {}", place, INT32_MAX, id);
    for (const char *key : {"single_word", "lstrip", "rstrip"})
      if (isTrue(token, key, false)) fail("{}: {} = true is not supported", place, key);
    size_t malformed = 0;
    std::optional<std::u32string> characters = decodeUtf8(content, malformed);
    if (!characters || characters->empty()) fail("{}: expected a text", place);
    if (!addedTexts.emplace(static_cast<int32_t>(id), content).second)
      fail("{}: another added token has the id {}, too", place, id);
    bool isNormalized = isTrue(token, "normalized", !isTrue(token, "special", false));
    added[isNormalized ? 1 : 0].push_back({std::move(*characters), static_cast<int32_t>(id)});
    largest = std::max(largest, static_cast<int32_t>(id));
  }
  // The longest first: of tokens that begin at one place, the longest is taken.
  for (std::vector<AddedToken> &list : added)
    std::sort(list.begin(), list.end(),
              [](const AddedToken &a, const AddedToken &b) { return a.content.size() > b.content.size(); });
}

void Tokenizer::readPreTokenizer(const Object &step, bool isFirst) {
  std::string place = where + ": pre_tokenizer", type = typeOf(step, place);
  if (isByteLevel) fail("{}: ByteLevel must be the last step", place);
  if (type == "Sequence" && isFirst) {
    checkKeys(step, {"type", "pretokenizers"}, place);
    const Object &list = member(step, "pretokenizers", place);
    if (!list.is_array()) fail("{}: expected an array", place);
    for (const Object &one : list) readPreTokenizer(one, /*isFirst=*/false);
  } else if (type == "Split") {
    readSplit(step, place);
  } else if (type == "Digits") {
    checkKeys(step, {"type", "individual_digits"}, place);
    bool individually = isTrue(step, "individual_digits", false);
    steps.push_back([individually](Word text) { return splitDigits(text, individually); });
  } else if (type == "ByteLevel") {
    checkKeys(step, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, place);
    addsSpace = isTrue(step, "add_prefix_space", true);
    if (addsSpace && !steps.empty()) fail("{}: add_prefix_space after other steps is not supported", place);
    if (isTrue(step, "use_regex", true)) steps.push_back(splitAsGpt2);
    isByteLevel = true;
  } else {
    fail("{}: the type {} is not supported", place, printable(type, 40));
  }
}

void Tokenizer::readSplit(const Object &step, const std::string &place) {
  checkKeys(step, {"type", "pattern", "behavior", "invert"}, place);
  const Object &pattern = member(step, "pattern", place);
  std::string behaviour = asString(member(step, "behavior", place), place);
  if (isTrue(step, "invert", false) || behaviour != "Isolated")
    fail("{}: a Split with invert, or another behavior than Isolated, is not supported", place);
  std::string text = asString(member(pattern, "Regex", place), place);
  std::string_view rest = text;
  if (rest == gpt2Expression) return steps.push_back(splitAsGpt2);
  bool isLlama3 = rest.starts_with(llama3Start) && rest.ends_with(llama3End) &&
                  rest.size() >= llama3Start.size() + llama3End.size();
  std::string_view count =
      isLlama3 ? rest.substr(llama3Start.size(), rest.size() - llama3Start.size() - llama3End.size()) : "?";
  size_t digits = count.empty() ? 1 : count == "{1,3}" ? 3 : count == "+" ? SIZE_MAX : 0;
  if (digits == 0)
    fail("{}: the regular expression {} is not supported; known are those of GPT-2 and LLaMA 3", place,
         printable(text, 200));
  steps.push_back([digits](Word text) { return splitAsLlama3(text, digits); });
}

void Tokenizer::readPostProcessor(const Object &processor) {
  std::string place = where + ": post_processor", type = typeOf(processor, place);
  if (type == "ByteLevel") return; // changes offsets only
  if (type == "TemplateProcessing") return readTemplate(processor, place);
  if (type != "Sequence") fail("{}: the type {} is not supported", place, printable(type, 40));
  checkKeys(processor, {"type", "processors"}, place);
  const Object &list = member(processor, "processors", place);
  if (!list.is_array()) fail("{}: expected an array", place);
  for (const Object &one : list) {
    if (typeOf(one, place) == "Sequence") fail("{}: a Sequence in a Sequence is not supported", place);
    readPostProcessor(one);
  }
}

/// Tokens before and after a text: `single` is a list of special tokens and the text, A.
void Tokenizer::readTemplate(const Object &processor, const std::string &place) {
  checkKeys(processor, {"type", "single", "pair", "special_tokens"}, place);
  if (!before.empty() || !after.empty()) fail("{}: a second TemplateProcessing is not supported", place);
  const Object &single = member(processor, "single", place), &special = member(processor, "special_tokens", place);
  bool isBefore = true;
  for (const Object &piece : single) {
    if (auto sequence = piece.find("Sequence"); sequence != piece.end()) {
      if (!isBefore || asString(member(*sequence, "id", place), place) != "A") fail("{}: expected one text, A", place);
      isBefore = false;
      continue;
    }
    std::string name = asString(member(member(piece, "SpecialToken", place), "id", place), place);
    for (const Object &id : member(member(special, name.c_str(), place), "ids", place)) {
      int64_t token = asInteger(id, place);
      if (token < 0 || token > INT32_MAX) fail("{}: expected an id from 0 to {}, got {}", place, INT32_MAX, token);
      (isBefore ? before : after).push_back(static_cast<int32_t>(token));
    }
  }
  if (isBefore) fail("{}: expected one text, A", place);
}

std::vector<int32_t> Tokenizer::encode(std::string_view text) const {
  size_t malformed = 0;
  std::optional<std::u32string> characters = decodeUtf8(text, malformed);
  if (!characters) fail("the text is not UTF-8 at byte {}", malformed);
  std::vector<int32_t> tokens = before;
  encodeSpans(*characters, 0, tokens);
  tokens.insert(tokens.end(), after.begin(), after.end());
  return tokens;
}

/// Finds added tokens, the special ones in the first pass, and encodes what is between them.
void Tokenizer::encodeSpans(Word text, size_t pass, std::vector<int32_t> &tokens) const {
  if (pass == std::size(added)) return encodeWords(text, tokens);
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    auto found = std::find_if(added[pass].begin(), added[pass].end(),
                              [&](const AddedToken &token) { return text.substr(at).starts_with(token.content); });
    if (found == added[pass].end()) {
      ++at;
      continue;
    }
    encodeSpans(text.substr(begin, at - begin), pass + 1, tokens);
    tokens.push_back(found->id);
    begin = at += found->content.size();
  }
  encodeSpans(text.substr(begin), pass + 1, tokens);
}

void Tokenizer::encodeWords(Word text, std::vector<int32_t> &tokens) const {
  if (text.empty()) return;
  std::u32string spaced;
  if (addsSpace && text[0] != ' ') text = spaced = U" " + std::u32string(text);
  std::vector<Word> words = {text};
  for (const Step &step : steps) {
    std::vector<Word> parts;
    for (Word word : words)
      for (Word part : step(word)) parts.push_back(part);
    words = std::move(parts);
  }
  for (Word word : words) {
    std::string bytes;
    for (char32_t c : word) appendUtf8(bytes, c);
    pairs->encode(bytes, tokens);
  }
}

std::string Tokenizer::decode(int32_t token) const {
  if (auto found = addedTexts.find(token); found != addedTexts.end()) return found->second;
  auto found = pairs->texts().find(token);
  return found == pairs->texts().end() ? "\xef\xbf\xbd" : found->second;
}

} // namespace tessera::runtime
