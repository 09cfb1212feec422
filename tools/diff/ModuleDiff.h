//===- ModuleDiff.h - what differs between two modules --------------------===//

#ifndef TESSERA_TOOLS_DIFF_MODULEDIFF_H
#define TESSERA_TOOLS_DIFF_MODULEDIFF_H

#include "mlir/IR/BuiltinOps.h"

namespace tessera {

/// Writes what differs between two modules of one context: attributes of the module, the state table, signatures of
/// entry functions and their ops, counts first, ops under the user's names. Returns whether anything does. Locations,
/// names of SSA values and `tsr.phase` do not count.
bool printModuleDiff(mlir::ModuleOp before, mlir::ModuleOp after, llvm::raw_ostream &out);

} // namespace tessera

#endif // TESSERA_TOOLS_DIFF_MODULEDIFF_H
