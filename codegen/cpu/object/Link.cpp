//===- Link.cpp - objects to a shared object, with LLD as a library -------===//
//
// LLD reads and writes files. The inputs are files in memory, by their names in /proc. The output is a pipe, since LLD
// would rename a file.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/object/Link.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

/// A file in memory that holds `bytes`; -1 if it cannot be created.
static int makeMemoryFile(StringRef bytes) {
  int file = memfd_create("tessera-object", MFD_CLOEXEC);
  if (file < 0) return -1;
  raw_fd_ostream out(file, /*shouldClose=*/false);
  out << bytes;
  out.flush();
  return out.has_error() ? (out.clear_error(), close(file), -1) : file;
}

namespace {
/// A pipe that is written by name and read by a thread meanwhile.
class OutputPipe {
public:
  OutputPipe() {
    isOpen = pipe2(ends, O_CLOEXEC) == 0;
    if (isOpen) reader = std::thread([this] { readAll(); });
  }
  ~OutputPipe() { (void)finish(); }

  explicit operator bool() const { return isOpen; }
  std::string getPath() const { return "/proc/self/fd/" + std::to_string(ends[1]); }
  /// Ends the output and returns what was written.
  std::string finish() {
    if (!reader.joinable()) return "";
    close(ends[1]);
    reader.join();
    close(ends[0]);
    return std::move(bytes);
  }

private:
  void readAll() {
    std::vector<char> part(1 << 16);
    for (ssize_t size; (size = read(ends[0], part.data(), part.size())) != 0;)
      if (size > 0)
        bytes.append(part.data(), size);
      else if (errno != EINTR)
        return;
  }

  int ends[2];
  bool isOpen;
  std::string bytes;
  std::thread reader;
};
} // namespace

FailureOr<std::string> tessera::linkSharedObject(ArrayRef<std::string> objects, raw_ostream &errors) {
  SmallVector<int> files;
  llvm::scope_exit cleanUp([&] {
    for (int file : files) close(file);
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
  OutputPipe output;
  if (!output) return errors << "cannot make a pipe: " << strerror(errno) << "\n", failure();
  arguments.insert(arguments.end(), {"-o", output.getPath()});
  auto pointers = map_to_vector(arguments, [](const std::string &argument) { return argument.c_str(); });
  lld::Result result = lld::lldMain(pointers, nulls(), errors, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return failure();
  return output.finish();
}
