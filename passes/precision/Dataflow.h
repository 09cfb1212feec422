//===- Flow.h - which values follow from which ----------------------------===//

#ifndef TESSERA_PASSES_PRECISION_DATAFLOW_H
#define TESSERA_PASSES_PRECISION_DATAFLOW_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Follows values forwards through a function, into repeats, around and out of them. `made`: which results of an op other than a
/// repeat are among them, given whether an operand is.
llvm::DenseSet<mlir::Value>
followForwards(mlir::func::FuncOp function,
               llvm::function_ref<mlir::ValueRange(mlir::Operation *, bool isOperandFound)> made);

/// A value that another one is, or is the sum of.
struct Term {
  mlir::Value value;
  bool isPart; ///< there are others, or a factor
};

/// One step back from the gradient of a parameter, as long as it is only added up, scaled and moved; none at an op that makes it.
llvm::SmallVector<Term> termsOf(mlir::Value gradient);

/// A factor of a product or quotient, of which the other is a scalar; null if none is.
mlir::Value scaledFactor(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_DATAFLOW_H
