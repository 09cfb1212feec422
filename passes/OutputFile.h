//===- OutputFile.h - files that the compiler writes ----------------------===//

#ifndef TESSERA_PASSES_OUTPUTFILE_H
#define TESSERA_PASSES_OUTPUTFILE_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace tessera {

/// Writes a text to a file; `-` is standard output, which is checked at the end. Returns what went wrong, or an
/// empty text. A file that cannot be written whole is removed.
std::string writeOutputFile(const std::string &path, llvm::StringRef text);

/// The folder of `--dump-dir`. What cannot be written there ends the compilation, and is no fault of the compiler.
class DumpFolder {
public:
  /// An empty path: nothing is dumped.
  explicit DumpFolder(std::string path) : path(std::move(path)) {}

  bool isWanted() const { return !path.empty(); }
  /// Writes the file NAME, which may be in a subfolder. Fails if it cannot; `getProblem` says why.
  llvm::LogicalResult write(llvm::StringRef name, llvm::StringRef text);
  /// What could not be written; empty if all could.
  const std::string &getProblem() const { return problem; }

private:
  std::string path, problem;
};

} // namespace tessera

#endif // TESSERA_PASSES_OUTPUTFILE_H
