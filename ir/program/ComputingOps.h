//===- ComputingOps.h - the ops that compute in kernels -------------------===//

#ifndef TESSERA_IR_PROGRAM_COMPUTINGOPS_H
#define TESSERA_IR_PROGRAM_COMPUTINGOPS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tessera {

/// An op that computes elements in kernels, by its mnemonic in the dialect: `exp`.
struct ComputingOp {
  llvm::StringRef name;
  bool isApproximated; ///< by a polynomial, say, in some ten instructions (`traits::Approximated`)
};

/// All of them, as the dialect declares them.
llvm::ArrayRef<ComputingOp> computingOps();

/// The op of that name; null if there is none.
const ComputingOp *findComputingOp(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_COMPUTINGOPS_H
