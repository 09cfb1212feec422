//===- OutputPath.h - resolves the path of an output file -----------------===//
//
// A file that is written under a temporary name and renamed must not replace a device, a pipe or a link. The compiler
// uses this too: it depends on the C++ library only and throws nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_OUTPUTPATH_H
#define TESSERA_RUNTIME_BASE_OUTPUTPATH_H

#include <string>

namespace tessera::runtime {

struct OutputPath {
  enum Kind {
    New,    ///< does not exist
    File,   ///< a regular file, which rename may replace
    Folder, ///< a folder, or in a place that cannot be written
    Special ///< a device, a pipe, a socket: opened and written, never replaced
  };
  std::string path; ///< with links followed
  Kind kind = New;

  bool canBeReplaced() const { return kind == New || kind == File; }
};

OutputPath findOutput(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_OUTPUTPATH_H
