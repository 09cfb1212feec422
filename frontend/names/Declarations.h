//===- Declarations.h - what the files of a program declare ----------------===//
//
// Reads the model file and the files it uses, and collects their declarations
// by name. Functions and lets belong to their file; dims and hypers are names
// of the whole program, which the names of a file's own declarations hide.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_NAMES_DECLARATIONS_H
#define TESSERA_FRONTEND_NAMES_DECLARATIONS_H

#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/syntax/Ast.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

struct FileScope;

struct FunctionDecl {
  const ast::Function *function = nullptr;
  const FileScope *file = nullptr;
};

struct LetDecl {
  const ast::Definition *definition = nullptr;
  unsigned element = 0; ///< which of the definition's names
};

/// One file: what its functions can refer to by name.
struct FileScope {
  ast::File tree;
  bool isLibrary = false;
  llvm::StringMap<FunctionDecl> functions; ///< its own and those taken with `use`
  llvm::StringMap<LetDecl> lets;
  llvm::StringSet<> dims; ///< which it declares: nothing in the file may hide their names
};

struct HyperDecl {
  const ast::Bind *bind = nullptr;
  const FileScope *file = nullptr;
};

struct DimDecl {
  const ast::DimSize *size = nullptr;
  const FileScope *file = nullptr;
};

/// All files of a program with their declarations.
struct Declarations {
  std::vector<std::unique_ptr<FileScope>> files; ///< the model file is the first
  llvm::MapVector<llvm::StringRef, HyperDecl> hypers;
  llvm::MapVector<llvm::StringRef, DimDecl> dims;
  llvm::MapVector<llvm::StringRef, const ast::Preset *> presets;
  const ast::Model *model = nullptr;
  const ast::Train *train = nullptr;

  const FileScope &main() const { return *files.front(); }
};

/// Reads and collects. `path` is that of the model file, so that used files are found beside it; empty for a text
/// that is in no file. After errors the result is what could be collected.
Declarations loadProgram(unsigned file, llvm::StringRef path, DiagnosticEngine &diagnostics);

/// One file of the library `nn`.
struct LibraryFile {
  llvm::StringRef name;
  llvm::StringRef text;
};
/// The library's sources, as shipped in frontend/nn/.
llvm::ArrayRef<LibraryFile> nnLibrary();

} // namespace tessera

#endif // TESSERA_FRONTEND_NAMES_DECLARATIONS_H
