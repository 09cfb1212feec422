//===- ModuleText.h - the text of a module, for people ---------------------===//

#ifndef TESSERA_IR_PROGRAM_MODULETEXT_H
#define TESSERA_IR_PROGRAM_MODULETEXT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// Lines of a dump are broken beyond this column.
constexpr size_t maxTextColumns = 160;

/// The text of a dump: MLIR's, with the aliases of types and with long lines broken. Parsed, it is the same module.
std::string moduleText(mlir::ModuleOp module, bool withLocations = false);

/// Breaks lines of more than `columns` bytes between tokens, where MLIR's parser takes any white space. The signature
/// of a function gets a line for each argument and for each result.
std::string breakLongLines(llvm::StringRef text, size_t columns = maxTextColumns);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_MODULETEXT_H
