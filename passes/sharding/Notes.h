//===- Notes.h - notes of ops that are built in place of one --------------===//

#ifndef TESSERA_PASSES_SHARDING_NOTES_H
#define TESSERA_PASSES_SHARDING_NOTES_H

#include "mlir/IR/Operation.h"

namespace tessera {

/// Gives all ops of a block after `previous` (null: from its beginning) the notes of `from`, which they are built in
/// place of, and exempts them from reduced precision if it is exempt.
void copyNotesToOpsAfter(mlir::Operation *previous, mlir::Block &block, mlir::Operation *from);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_NOTES_H
