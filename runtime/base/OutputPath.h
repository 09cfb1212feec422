//===- OutputPath.h - where a file that is asked for really goes --------------===//
//
// What is written under a temporary name and renamed must not take the place
// of a device, a pipe or a link. Used by the compiler too: depends on nothing
// but the C++ library and throws nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_OUTPUTPATH_H
#define TESSERA_RUNTIME_OUTPUTPATH_H

#include <string>

namespace tessera::runtime {

struct OutputPath {
  enum Kind {
    New,    ///< nothing is there
    File,   ///< a regular file, which a rename may replace
    Folder, ///< nothing can be written there
    Special ///< a device, a pipe, a socket: only opening and writing it makes sense
  };
  std::string path; ///< with links followed
  Kind kind = New;

  bool canBeReplaced() const { return kind == New || kind == File; }
};

OutputPath findOutput(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_OUTPUTPATH_H
