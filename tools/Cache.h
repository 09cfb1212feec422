//===- Cache.h - programs compiled before ---------------------------------===//

#ifndef TESSERA_TOOLS_CACHE_H
#define TESSERA_TOOLS_CACHE_H

#include "codegen/host/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tessera {

/// The path of the program for a module after `parse` (its text), these options, this compiler and this launcher. If the cache
/// (`$XDG_CACHE_HOME/tessera`, else `~/.cache/tessera`) lacks it, `build` makes it at the path it is given and returns
/// an exit code; so it does where `rebuild` asks for it. Returns an exit code.
int cachedProgram(llvm::StringRef module, const CodegenOptions &options, const std::string &launcher, bool rebuild,
                  std::string &program, llvm::function_ref<int(const std::string &)> build);

} // namespace tessera

#endif // TESSERA_TOOLS_CACHE_H
