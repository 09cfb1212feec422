//===- ProgramCache.h - programs compiled before --------------------------===//

#ifndef TESSERA_TOOLS_PROGRAMCACHE_H
#define TESSERA_TOOLS_PROGRAMCACHE_H

#include "codegen/program/Program.h"
#include "tools/ContentCache.h"
#include <optional>
#include <string>

namespace tessera {

/// The cache entry of one program. Its key is the hash of everything that determines the program: the text of the
/// module before the phases, the options of code generation, the processors, the compiler and its libraries.
class ProgramCache {
public:
  ProgramCache(llvm::StringRef module, const CodegenOptions &options);

  /// The program, if it was compiled before.
  std::optional<CompiledProgram> find() const;

  /// Stores a program. Returns an error message, or an empty string.
  std::string store(const CompiledProgram &program) const;

private:
  ContentCache cache;
  std::string key;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMCACHE_H
