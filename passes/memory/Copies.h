//===- Copies.h - explicit copies where storage cannot be shared ------------------===//

#ifndef TESSERA_PASSES_MEMORY_COPIES_H
#define TESSERA_PASSES_MEMORY_COPIES_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Inserts the copies that no choice of places avoids: where a repeat or a function yields an argument, a part of a
/// buffer, or a value twice. Returns the number of copies.
unsigned insertStructuralCopies(mlir::func::FuncOp function);

/// Copies the operand's value right before the op that uses it.
void copyBefore(mlir::OpOperand &use);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_COPIES_H
