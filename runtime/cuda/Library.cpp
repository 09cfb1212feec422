//===- Library.cpp - shared libraries of CUDA, opened when they are needed -===//

#include "runtime/cuda/Library.h"

#include "runtime/base/Error.h"

#include <cstdlib>
#include <dlfcn.h>

namespace tessera::runtime::cuda {

Library::Library(const char *variable, const std::vector<std::string> &names, const char *advice) {
  std::vector<std::string> folders = {"", "/usr/local/cuda/lib64/"};
  if (const char *folder = getenv(variable)) folders = {std::string(folder) + "/"};
  for (const std::string &folder : folders)
    for (const std::string &name : names) {
      path = folder + name;
      if ((handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))) return;
    }
  fail("cannot open {}: {}", names.front(), advice);
}

void *Library::symbolOrNull(const char *name) const { return dlsym(handle, name); }

void *Library::symbol(const char *name) const {
  void *found = symbolOrNull(name);
  if (!found) fail("{} has no function {}; it is too old for this program", path, name);
  return found;
}

} // namespace tessera::runtime::cuda
