//===- Json.h - strict JSON, safe for untrusted files ---------------------===//

#ifndef TESSERA_RUNTIME_BASE_JSON_H
#define TESSERA_RUNTIME_BASE_JSON_H

#include "runtime/base/Error.h"
#include "runtime/base/Printable.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace tessera::runtime {

/// Preserves the order of keys, so that the output is deterministic.
using Json = nlohmann::ordered_json;

/// Parses one JSON value. Limits the nesting depth before it parses, and rejects duplicate keys. Throws an Error that
/// names `where` and the byte; `base` is the offset of `text` in that file.
Json parseJson(std::string_view text, const std::string &where, size_t base = 0, int maxDepth = 16);

/// Characters of member `key` of an object, with its key, in the object's text, which has been parsed; 0 without it.
size_t memberLength(std::string_view object, std::string_view key);

/// Serialises a value. Bytes of a path that are not UTF-8 become U+FFFD.
std::string dumpJson(const Json &value, int indent = -1);

/// What the JSON library says is wrong, without its own name for the kind of error.
std::string reasonOf(const nlohmann::json::exception &error);

/// The value as it is read after dumpJson() has written it.
Json asWritten(const Json &value);

/// Like parseJson(), with sorted keys: an object of n keys takes O(n log n) time; Json takes O(n²).
nlohmann::json parseSortedJson(std::string_view text, const std::string &where, size_t base = 0, int maxDepth = 16);

/// Member `key` of an object. Throws an Error that names `where` if it is missing.
template <typename AnyJson> const AnyJson &member(const AnyJson &object, const char *key, const std::string &where) {
  if (!object.is_object()) fail("{}: expected an object", where);
  auto found = object.find(key);
  if (found == object.end()) fail("{}: missing key '{}'", where, key);
  return *found;
}

template <typename AnyJson> int64_t asInteger(const AnyJson &value, const std::string &where) {
  bool tooLarge = value.is_number_unsigned() && value.template get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  if (!value.is_number_integer() || tooLarge) fail("{}: expected an integer", where);
  return value.template get<int64_t>();
}

template <typename AnyJson> std::string asString(const AnyJson &value, const std::string &where) {
  if (!value.is_string()) fail("{}: expected a string", where);
  return value.template get<std::string>();
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_JSON_H
