//===- Json.cpp - strict JSON, safe for untrusted files -------------------===//

#include "runtime/base/Json.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tessera::runtime {

static void checkDepth(std::string_view text, const std::string &where, size_t base, int maxDepth) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
      continue;
    }
    if (c == '"') inString = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > maxDepth) fail("{}: byte {}: JSON nested deeper than {}", where, base + i, maxDepth);
  }
}

namespace {
/// Looks for a key that occurs twice in one object. (The parser's callback could do that, but takes quadratic time in
/// the size of an object.)
class KeyWatch final : public nlohmann::json_sax<nlohmann::json> {
public:
  std::string duplicate;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return keys.emplace_back(), true; }
  bool end_object() override { return keys.pop_back(), true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool key(string_t &name) override {
    if (!keys.back().insert(name).second && duplicate.empty()) duplicate = name;
    return true;
  }
  /// The parser throws its own message.
  bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override { return false; }

private:
  std::vector<std::set<std::string>> keys;
};
} // namespace

template <typename AnyJson>
static AnyJson parse(std::string_view text, const std::string &where, size_t base, int maxDepth) {
  checkDepth(text, where, base, maxDepth);
  try {
    AnyJson value = AnyJson::parse(text.begin(), text.end());
    KeyWatch watch;
    nlohmann::json::sax_parse(text.begin(), text.end(), &watch);
    if (!watch.duplicate.empty()) fail("{}: the key '{}' occurs twice", where, watch.duplicate);
    return value;
  } catch (const typename AnyJson::parse_error &e) {
    fail("{}: byte {}: not valid JSON", where, base + (e.byte > 0 ? e.byte - 1 : 0));
  } catch (const typename AnyJson::exception &e) {
    fail("{}: not valid JSON: {}", where, reasonOf(e));
  }
}

Json parseJson(std::string_view text, const std::string &where, size_t base, int maxDepth) {
  return parse<Json>(text, where, base, maxDepth);
}

nlohmann::json parseSortedJson(std::string_view text, const std::string &where, size_t base, int maxDepth) {
  return parse<nlohmann::json>(text, where, base, maxDepth);
}

std::string dumpJson(const Json &value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string reasonOf(const nlohmann::json::exception &error) {
  std::string_view text = error.what(); // "[json.exception.type_error.302] type must be number, but is string"
  size_t end = text.starts_with("[json.exception") ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

Json asWritten(const Json &value) { return Json::parse(dumpJson(value)); }

size_t memberLength(std::string_view object, std::string_view key) {
  std::string quoted = "\"" + std::string(key) + "\"";
  std::optional<size_t> start;
  int depth = 0;
  bool isKey = true; // whether a string at depth 1 is one
  for (size_t i = 0; i < object.size(); ++i) {
    char c = object[i];
    if (c == '"') {
      size_t first = i++;
      for (; object[i] != '"'; ++i)
        if (object[i] == '\\') ++i;
      if (depth == 1 && isKey && object.substr(first, i + 1 - first) == quoted) start = first;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
    if (start && ((depth == 1 && c == ',') || depth == 0)) return i - *start;
    if (depth == 1 && (c == ':' || c == ',')) isKey = c == ',';
  }
  return 0;
}

} // namespace tessera::runtime
