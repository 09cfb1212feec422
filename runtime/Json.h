//===- Json.h - strict JSON from files that may come from strangers -----------===//

#ifndef TESSERA_RUNTIME_JSON_H
#define TESSERA_RUNTIME_JSON_H

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace tessera::runtime {

/// Keeps the order of keys, so that what is written has one form.
using Json = nlohmann::ordered_json;

/// Parses one JSON value. Bounds the nesting before parsing and refuses
/// duplicate keys. Throws an Error naming `where` and the byte; `base` is the
/// offset of `text` in that file.
Json parseJson(std::string_view text, const std::string &where, size_t base = 0, int maxDepth = 16);

/// The text of a value. A path may hold any bytes: those that are not UTF-8 become U+FFFD.
std::string dumpJson(const Json &value, int indent = -1);

/// The value as it reads when it was written with dumpJson.
Json asWritten(const Json &value);

/// Member `key` of an object; an Error naming `where` if it is missing.
const Json &member(const Json &object, const char *key, const std::string &where);

int64_t asInteger(const Json &value, const std::string &where);
std::string asString(const Json &value, const std::string &where);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_JSON_H
