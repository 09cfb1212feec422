//===- OutputConflicts.h - outputs that cannot be written as they are ------===//

#ifndef TESSERA_TOOLS_OUTPUTCONFLICTS_H
#define TESSERA_TOOLS_OUTPUTCONFLICTS_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tessera {

/// A file that a command writes, and the option that names it. `-` is standard output.
struct NamedOutput {
  std::string option, path;
};

/// A file that a command must not overwrite, and what it is.
struct UsedFile {
  std::string path, what;
};

/// The files of the model's data; those of patterns too.
std::vector<UsedFile> dataFiles(mlir::ModuleOp module);

/// The files that arguments of a training program name: each argument, or what follows its last `=`.
std::vector<UsedFile> filesOfArguments(llvm::ArrayRef<std::string> arguments);

/// A message if an output is the same file as one in use or as another output, also under another name; empty if not.
/// Devices and pipes may occur twice.
std::string findOutputConflict(llvm::ArrayRef<NamedOutput> outputs, llvm::ArrayRef<UsedFile> used);

/// Why an output cannot be written, before the work that makes its contents; empty if nothing speaks against it.
std::string findUnwritable(const std::string &path);

} // namespace tessera

#endif // TESSERA_TOOLS_OUTPUTCONFLICTS_H
