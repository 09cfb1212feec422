//===- Dataflow.h - which values follow from which ------------------------===//

#ifndef TESSERA_PASSES_PRECISION_DATAFLOW_H
#define TESSERA_PASSES_PRECISION_DATAFLOW_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// A forward dataflow analysis: the values that the transfer function selects, propagated into, around and out of
/// repeats. `made` returns the selected results of an op other than a repeat, given whether an operand is selected.
llvm::DenseSet<mlir::Value>
followForwards(mlir::func::FuncOp function,
               llvm::function_ref<mlir::ValueRange(mlir::Operation *, bool isOperandFound)> made);

/// A value that another one is equal to or is a sum of.
struct Term {
  mlir::Value value;
  bool isPart; ///< there are other terms, or a factor
};

/// The terms of the gradient of a parameter, one op back: through additions, scaling and changes of shape. None if the
/// op computes it in another way.
llvm::SmallVector<Term> termsOf(mlir::Value gradient);

/// The operand of a product or quotient whose other operand is a scalar; null if there is none.
mlir::Value scaledFactor(mlir::Operation *op);

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_DATAFLOW_H
