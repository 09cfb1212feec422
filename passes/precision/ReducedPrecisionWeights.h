//===- ReducedPrecisionWeights.h - parameters without a master copy -------===//

#ifndef TESSERA_PASSES_PRECISION_REDUCEDPRECISIONWEIGHTS_H
#define TESSERA_PASSES_PRECISION_REDUCEDPRECISIONWEIGHTS_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Holds the parameters of the kind `weight` in bf16 in the state table and in all entry functions.
llvm::LogicalResult reduceWeightPrecision(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_REDUCEDPRECISIONWEIGHTS_H
