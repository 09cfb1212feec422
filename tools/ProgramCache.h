//===- ProgramCache.h - programs compiled before --------------------------===//

#ifndef TESSERA_TOOLS_PROGRAMCACHE_H
#define TESSERA_TOOLS_PROGRAMCACHE_H

#include "codegen/program/Program.h"
#include "tools/ContentCache.h"
#include <optional>
#include <string>

namespace tessera {

/// The place of one program in the cache. Its key is the hash of all that decides the program: the module as the
/// frontend or a file gave it (its text), the options of code generation, the processors, the compiler and its
/// libraries.
class ProgramCache {
public:
  ProgramCache(llvm::StringRef module, const CodegenOptions &options);

  /// The program, if it was compiled before.
  std::optional<CompiledProgram> find() const;

  /// Keeps a program. Returns an empty string, or why it could not.
  std::string keep(const CompiledProgram &program) const;

private:
  ContentCache cache;
  std::string key;
};

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMCACHE_H
