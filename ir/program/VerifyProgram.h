//===- VerifyProgram.h - what every phase relies on -----------------------===//

#ifndef TESSERA_IR_PROGRAM_VERIFYPROGRAM_H
#define TESSERA_IR_PROGRAM_VERIFYPROGRAM_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Checks the form of a program, which dumps that were edited by hand may lack:
///
///   1. The module has states and functions only. No two states have one path.
///   2. A function has a body of one block, of ops of this dialect; its arguments and results are tensors.
///   3. The attributes on module, arguments and results have the types that ir/dialect/Attributes.h says.
///   4. An argument or result that is a state names a state of the table, and has its axes.
///   5. No tensor or state, nor the arena, has more bytes than can be added and multiplied in 64 bits.
///   6. The arena is as large as its bound at least.
///
/// The verifiers of ops have checked the rest.
llvm::LogicalResult verifyProgram(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_VERIFYPROGRAM_H
