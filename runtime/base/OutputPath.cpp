//===- OutputPath.cpp - resolves the path of an output file ---------------===//

#include "runtime/base/OutputPath.h"

#include <climits>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

OutputPath findOutput(const std::string &path) {
  struct stat info;
  // First, since the final target of /dev/stdout may have no name.
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return {path, S_ISDIR(info.st_mode) ? OutputPath::Folder : OutputPath::Special};
  OutputPath output{path, OutputPath::New};
  // Link by link, so that a link to a file that does not exist yet is followed too.
  for (int links = 0; links < 40; ++links) {
    char target[PATH_MAX];
    ssize_t length = readlink(output.path.c_str(), target, sizeof(target));
    if (length <= 0) break;
    std::string next(target, length);
    size_t slash = output.path.rfind('/');
    output.path = next[0] == '/' || slash == std::string::npos ? next : output.path.substr(0, slash + 1) + next;
  }
  if (stat(output.path.c_str(), &info) == 0) output.kind = OutputPath::File;
  return output;
}

} // namespace tessera::runtime
