//===- CpuFeatures.cpp - does this processor run that code --------------------===//
//
// The kernel's names and LLVM's differ in dots, underscores and a few words.
//
//===----------------------------------------------------------------------===//

#include "runtime/CpuFeatures.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace tessera::runtime {

static std::string withoutPunctuation(const std::string &name) {
  std::string plain;
  for (char c : name)
    if (c != '_' && c != '.' && c != '-' && c != '+') plain += c;
  return plain;
}

static std::set<std::string> kernelFlags() {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(withoutPunctuation(word));
    break;
  }
  return flags;
}

/// Whether generated code may use instructions of a feature. Others, of the system (`shstk`) or masked by the
/// kernel for its own reasons (`rdseed`), say nothing about whether a program runs.
static bool isUsedByCode(const std::string &name) {
  for (const char *prefix : {"sse", "ssse", "avx", "amx", "fma", "f16c", "bmi", "lzcnt", "popcnt", "movbe", "aes",
                             "vaes", "pclmul", "vpclmul", "gfni", "sha", "adx"})
    if (name.starts_with(prefix) && name != "shstk") return true;
  return false;
}

std::vector<std::string> missingCpuFeatures(const std::vector<std::string> &features) {
  static const std::map<std::string, std::string> kernelName = {
      {"sse3", "pni"},  {"bmi", "bmi1"},  {"pclmul", "pclmulqdq"},
      {"lzcnt", "abm"}, {"sha", "shani"}, {"sseunalignedmem", "misalignsse"}};
  std::set<std::string> flags = kernelFlags();
  std::vector<std::string> missing;
  for (const std::string &feature : features) {
    std::string name = withoutPunctuation(feature);
    if (feature.starts_with("-") || !isUsedByCode(name)) continue;
    auto alias = kernelName.find(name);
    if (!flags.count(alias == kernelName.end() ? name : alias->second)) missing.push_back(feature);
  }
  return missing;
}

} // namespace tessera::runtime
