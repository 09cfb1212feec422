//===- OutputConflicts.h - outputs that would overwrite a file in use -------===//

#ifndef TESSERA_TOOLS_OUTPUTCONFLICTS_H
#define TESSERA_TOOLS_OUTPUTCONFLICTS_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace tessera {

/// A file that a command writes, and the option that names it.
struct NamedOutput {
  std::string option, path;
};

/// A message if an output is the same file as an input or as another output, also under another name; empty if not.
/// Devices and pipes may occur twice.
std::string findOutputConflict(llvm::ArrayRef<NamedOutput> outputs, llvm::ArrayRef<std::string> inputs);

} // namespace tessera

#endif // TESSERA_TOOLS_OUTPUTCONFLICTS_H
