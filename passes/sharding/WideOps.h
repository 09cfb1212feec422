//===- WideOps.h - ops on the parts of all ranks --------------------------===//

#ifndef TESSERA_PASSES_SHARDING_WIDEOPS_H
#define TESSERA_PASSES_SHARDING_WIDEOPS_H

#include "passes/sharding/WideBuilder.h"

namespace tessera {

/// Builds an op, divided as `sharding` says, on operands in wide form, which have their places in its list of operands.
/// Not repeats, nor composites that must be decomposed first.
llvm::SmallVector<WideValue> buildWide(WideBuilder &builder, mlir::Operation *op, llvm::ArrayRef<WideValue> operands,
                                       const Sharding &sharding);

} // namespace tessera

#endif // TESSERA_PASSES_SHARDING_WIDEOPS_H
