//===- PathPattern.h - patterns of paths ----------------------------------===//
//
// A path consists of names between dots. In a pattern, `*` is one name and `**` any number of names. The compiler
// includes this header too: it needs the C++ standard library only.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_PATHPATTERN_H
#define TESSERA_RUNTIME_BASE_PATHPATTERN_H

#include <string>
#include <string_view>
#include <vector>

namespace tessera {

inline std::vector<std::string_view> namesOfPath(std::string_view path) {
  std::vector<std::string_view> names;
  for (size_t dot; (dot = path.find('.')) != std::string_view::npos; path.remove_prefix(dot + 1))
    names.push_back(path.substr(0, dot));
  names.push_back(path);
  return names;
}

/// Whether the pattern matches the whole path. Quadratic in their lengths, whatever the number of `**`.
inline bool matchesPath(std::string_view pattern, std::string_view path) {
  std::vector<std::string_view> names = namesOfPath(path);
  std::vector<bool> reached(names.size() + 1, false); // reached[i]: the pattern so far matches the first i names
  reached[0] = true;
  for (std::string_view part : namesOfPath(pattern)) {
    std::vector<bool> next(names.size() + 1, false);
    for (size_t i = 0; i <= names.size(); ++i) {
      if (part == "**")
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      else if (i > 0)
        next[i] = reached[i - 1] && (part == "*" || part == names[i - 1]);
    }
    reached = std::move(next);
  }
  return reached.back();
}

/// What is wrong with a pattern in which a `*` is part of a name, where it matches nothing; empty if nothing is.
inline std::string misplacedStar(std::string_view pattern) {
  for (std::string_view name : namesOfPath(pattern))
    if (name.find('*') != name.npos && name != "*" && name != "**")
      return "`*` stands for a whole name and `**` for any number of names, but '" + std::string(name) +
             "' has other characters beside it";
  return "";
}

} // namespace tessera

#endif // TESSERA_RUNTIME_BASE_PATHPATTERN_H
