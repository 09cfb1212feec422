//===- LoadLibrary.cpp - shared objects out of memory -----------------------===//

#include "tests/support/LoadLibrary.h"
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace tessera;

void *test::loadLibrary(llvm::StringRef bytes, std::string &error) {
  int file = memfd_create("kernels", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return error = "cannot write to memory", nullptr;
  void *library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) error = dlerror();
  close(file);
  return library;
}
