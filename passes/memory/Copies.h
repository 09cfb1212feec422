//===- Copies.h - explicit copies where storage cannot be shared ------------------===//

#ifndef TESSERA_PASSES_MEMORY_COPIES_H
#define TESSERA_PASSES_MEMORY_COPIES_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Copies what no choice of places could avoid: a repeat or a function that yields an argument, a part of a buffer, or
/// a value twice, each to a place of its own. Returns the number of copies.
unsigned insertStructuralCopies(mlir::func::FuncOp function);

/// Copies the operand's value right before the op that uses it.
void copyBefore(mlir::OpOperand &use);

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_COPIES_H
