//===- ForeignNames.h - names of other frameworks ---------------------------===//
//
// What to write here for the functions and modules that people know from
// PyTorch and NumPy. Messages on unknown names use the table; docs/language.md,
// "For PyTorch users", has it too, and a test compares the two.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_DIAGNOSTICS_FOREIGNNAMES_H
#define TESSERA_FRONTEND_DIAGNOSTICS_FOREIGNNAMES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

struct ForeignNames {
  llvm::StringRef names; ///< separated by spaces
  llvm::StringRef write; ///< what to write instead, with code in backquotes
};

/// In the order of the documentation.
llvm::ArrayRef<ForeignNames> foreignNames();

/// What to write instead of a name of another framework, in whatever case; empty if the name is none.
llvm::StringRef adviceOnForeignName(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_FRONTEND_DIAGNOSTICS_FOREIGNNAMES_H
