//===- FilePattern.cpp - the files that a pattern of a data path names ----===//

#include "runtime/base/FilePattern.h"

#include <glob.h>
#include <unistd.h>

namespace tessera::runtime {

std::vector<std::string> filesMatching(const std::string &pattern) {
  // A path that exists is a file, even if its name contains a bracket.
  if (access(pattern.c_str(), F_OK) == 0) return {pattern};
  std::vector<std::string> files;
  glob_t found = {};
  int status = glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  globfree(&found);
  return files;
}

} // namespace tessera::runtime
