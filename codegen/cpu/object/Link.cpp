//===- Link.cpp - objects to a shared object, with LLD as a library -------===//
//
// LLD reads and writes files. The inputs are files in memory, by their names in /proc. The output is a pipe, since LLD
// would rename a file.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/object/Link.h"
#include "ir/program/SystemError.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace llvm;

/// A file in memory that holds `bytes`; -1 if it cannot be created, and then `error` says why.
static int makeMemoryFile(StringRef bytes, std::error_code &error) {
  int file = memfd_create("tessera-object", MFD_CLOEXEC);
  if (file < 0) return error = errnoAsErrorCode(), -1;
  raw_fd_ostream out(file, /*shouldClose=*/false);
  out << bytes;
  out.flush();
  error = out.error();
  out.clear_error();
  return error ? (close(file), -1) : file;
}

/// LLD opens one file at a time, and if it cannot, it does not tell a limit from a defect: that is tried before.
static std::error_code checkSpareFile() {
  std::error_code error;
  if (int file = makeMemoryFile("", error); file >= 0) close(file);
  return error;
}

namespace {
/// A pipe that is written by name and read by a thread meanwhile.
class OutputPipe {
public:
  OutputPipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) {
      error = errnoAsErrorCode();
      return;
    }
    try {
      reader = std::thread([this] { readAll(); });
    } catch (const std::system_error &failure) {
      error = failure.code();
      close(ends[0]), close(ends[1]);
    }
  }
  ~OutputPipe() { (void)finish(); }

  /// Why there is no pipe; none if there is one.
  std::error_code getError() const { return error; }
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
  std::error_code error;
  std::string bytes;
  std::thread reader;
};
} // namespace

FailureOr<std::string> tessera::linkSharedObject(ArrayRef<std::string> objects, raw_ostream &errors,
                                                 std::string *lack) {
  auto fail = [&](std::error_code error) {
    std::string problem = "cannot link the program: " + describeSystemError(error);
    lack ? void(*lack = problem) : void(errors << problem << "\n");
    return failure();
  };
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
    std::error_code error;
    int file = makeMemoryFile(object, error);
    if (file < 0) return fail(error);
    files.push_back(file);
    arguments.push_back("/proc/self/fd/" + std::to_string(files.back()));
  }
  OutputPipe output;
  if (output.getError()) return fail(output.getError());
  if (std::error_code error = checkSpareFile()) return fail(error);
  arguments.insert(arguments.end(), {"-o", output.getPath()});
  auto pointers = map_to_vector(arguments, [](const std::string &argument) { return argument.c_str(); });
  lld::Result result = lld::lldMain(pointers, nulls(), errors, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return failure();
  return output.finish();
}
