//===- Cache.h - programs compiled before ---------------------------------===//

#ifndef TESSERA_TOOLS_CACHE_H
#define TESSERA_TOOLS_CACHE_H

#include "codegen/host/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tessera {

/// The path of the program for a module after `parse` (its text), these options and this compiler. If the cache
/// (`$XDG_CACHE_HOME/tessera`, else `~/.cache/tessera`) lacks it, `build` makes it at the path it is given and returns
/// an exit code.
llvm::FailureOr<std::string> cachedProgram(llvm::StringRef module, const CodegenOptions &options,
                                           llvm::function_ref<int(const std::string &)> build);

} // namespace tessera

#endif // TESSERA_TOOLS_CACHE_H
