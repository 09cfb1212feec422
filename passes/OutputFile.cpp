//===- OutputFile.cpp - files that the compiler writes --------------------===//

#include "passes/OutputFile.h"
#include "ir/program/SystemError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tessera;

std::string tessera::writeOutputFile(const std::string &path, StringRef text) {
  if (path == "-") return llvm::outs() << text, "";
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error) {
    out << text;
    out.close();
    error = out.error();
    out.clear_error(); // or the stream would end the process
    SmallString<256> real;
    if (error && llvm::sys::fs::is_regular_file(path) && !llvm::sys::fs::real_path(path, real))
      (void)llvm::sys::fs::remove(real);
  }
  return error ? "cannot write " + path + ": " + describeSystemError(error) : "";
}

LogicalResult DumpFolder::write(StringRef name, StringRef text) {
  std::string file = path + "/" + name.str();
  StringRef folder = llvm::sys::path::parent_path(file);
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    problem = "cannot make the folder " + folder.str() + ": " + describeSystemError(error);
  else
    problem = writeOutputFile(file, text);
  return success(problem.empty());
}
