//===- Selection.cpp - patterns of parameters, lists of names -------------===//

#include "runtime/base/PathPattern.h"
#include "runtime/weights/ModelWeights.h"

#include <algorithm>

namespace tessera::runtime {

bool selects(const std::string &pattern, const StateEntry &entry) {
  return pattern == entry.kind || matchesPath(pattern, entry.path);
}

void refusePattern(const std::string &pattern, const Manifest &manifest) {
  fail("--only {}: no parameter has this path{}", pattern, pathAdvice(manifest, pattern));
}

/// The name with `*` for each of its names that is a number: "h.*.attn.bias".
static std::string withoutNumbers(const std::string &name) {
  std::string result;
  for (std::string_view part : namesOfPath(name)) {
    bool isNumber = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (!result.empty()) result += '.';
    result += isNumber ? "*" : part;
  }
  return result;
}

std::string listOfNames(const std::vector<std::string> &names) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> groups;
  for (const std::string &name : names) {
    std::vector<std::string> &group = groups[withoutNumbers(name)];
    if (group.empty()) order.push_back(withoutNumbers(name));
    group.push_back(name);
  }
  std::vector<std::string> texts;
  for (const std::string &key : order) {
    const std::vector<std::string> &group = groups[key];
    texts.push_back(group.size() == 1 ? printable(group[0], 200)
                                      : fmt::format("{} ({})", printable(key, 200), group.size()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

} // namespace tessera::runtime
