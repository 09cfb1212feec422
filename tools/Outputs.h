//===- Outputs.h - what a command writes ------------------------------------===//

#ifndef TESSERA_TOOLS_OUTPUTS_H
#define TESSERA_TOOLS_OUTPUTS_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace tessera {

/// A file that a command writes, and the option that says so.
struct Output {
  std::string option, path;
};

/// What is wrong where an output is the same file as an input or another output, by whatever name; else empty. Devices
/// and pipes may be given twice.
std::string findSharedFile(llvm::ArrayRef<Output> outputs, llvm::ArrayRef<std::string> inputs);

} // namespace tessera

#endif // TESSERA_TOOLS_OUTPUTS_H
