//===- Link.cpp - objects to a shared object, with LLD as a library -------===//
//
// LLD reads and writes files. Inputs are given as files in memory, under their
// names in /proc; the output is a temporary file, since LLD wants to rename it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Link.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

/// A file in memory that holds `bytes`; -1 if there is none to be had.
static int makeMemoryFile(StringRef bytes) {
  int file = memfd_create("tessera-object", MFD_CLOEXEC);
  if (file < 0) return -1;
  raw_fd_ostream out(file, /*shouldClose=*/false);
  out << bytes;
  out.flush();
  return out.has_error() ? (out.clear_error(), close(file), -1) : file;
}

FailureOr<std::string> tessera::linkSharedObject(ArrayRef<std::string> objects, raw_ostream &errors) {
  SmallVector<int> files;
  SmallString<128> output;
  llvm::scope_exit cleanUp([&] {
    for (int file : files) close(file);
    if (!output.empty()) sys::fs::remove(output);
  });
  std::vector<std::string> arguments{"ld.lld",
                                     "-shared",
                                     "-nostdlib",
                                     "--no-undefined",
                                     "--threads=1",
                                     "--build-id=none",
                                     "-soname=tessera-program.so",
                                     "-z",
                                     "noexecstack"};
  for (const std::string &object : objects) {
    files.push_back(makeMemoryFile(object));
    if (files.back() < 0) return errors << "cannot make a file in memory\n", failure();
    arguments.push_back("/proc/self/fd/" + std::to_string(files.back()));
  }
  if (std::error_code error = sys::fs::createTemporaryFile("tessera", "so", output))
    return errors << "cannot make a temporary file: " << error.message() << "\n", failure();
  arguments.insert(arguments.end(), {"-o", output.str().str()});
  auto pointers = map_to_vector(arguments, [](const std::string &argument) { return argument.c_str(); });
  lld::Result result = lld::lldMain(pointers, nulls(), errors, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return failure();
  auto buffer = MemoryBuffer::getFile(output);
  if (!buffer) return errors << "cannot read what was linked: " << buffer.getError().message() << "\n", failure();
  return (*buffer)->getBuffer().str();
}
