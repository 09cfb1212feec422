//===- Json.cpp - strict JSON from files that may come from strangers ---------===//

#include "runtime/Json.h"

#include "runtime/Error.h"

#include <algorithm>
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

Json parseJson(std::string_view text, const std::string &where, size_t base, int maxDepth) {
  checkDepth(text, where, base, maxDepth);
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  auto watch = [&](int, Json::parse_event_t event, Json &value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second && duplicate.empty())
      duplicate = value.get<std::string>();
    return true;
  };
  try {
    Json value = Json::parse(text.begin(), text.end(), watch);
    if (!duplicate.empty()) fail("{}: the key '{}' occurs twice", where, duplicate);
    return value;
  } catch (const Json::parse_error &e) {
    fail("{}: byte {}: not valid JSON", where, base + (e.byte > 0 ? e.byte - 1 : 0));
  } catch (const Json::exception &e) {
    fail("{}: not valid JSON: {}", where, e.what());
  }
}

std::string dumpJson(const Json &value, int indent) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

Json asWritten(const Json &value) { return Json::parse(dumpJson(value)); }

const Json &member(const Json &object, const char *key, const std::string &where) {
  if (!object.is_object()) fail("{}: expected an object", where);
  auto found = object.find(key);
  if (found == object.end()) fail("{}: missing key '{}'", where, key);
  return *found;
}

int64_t asInteger(const Json &value, const std::string &where) {
  bool tooLarge = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (!value.is_number_integer() || tooLarge) fail("{}: expected an integer", where);
  return value.get<int64_t>();
}

std::string asString(const Json &value, const std::string &where) {
  if (!value.is_string()) fail("{}: expected a string", where);
  return value.get<std::string>();
}

} // namespace tessera::runtime
