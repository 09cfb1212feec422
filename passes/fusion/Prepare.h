//===- Prepare.h - rewrites before ops are grouped ------------------------===//

#ifndef TESSERA_PASSES_FUSION_PREPARE_H
#define TESSERA_PASSES_FUSION_PREPARE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Turns seeds into constants and folds axis ops of sources into the sources.
void foldSources(mlir::ModuleOp module);

/// Expands contractions that are no GEMMs into a product and a sum.
void expandSmallContractions(mlir::ModuleOp module);

/// Splits reductions of many elements to few results in two, so that the first one has enough independent parts.
void splitLargeReductions(mlir::ModuleOp module);

/// Moves additions into contractions: accumulators and sums of contractions into `init`, operands that vary along N
/// only into `bias`, in the type in which the target's library adds it. A scatter takes a contraction or an accumulator
/// as its `init`.
void absorbAdditions(mlir::ModuleOp module);

/// Changes the result type of a contraction whose result is only rounded to its operands' type.
void absorbRoundings(mlir::ModuleOp module);

/// For a GPU: makes GELU of a contraction's result its epilogue; likewise the derivative of GELU times a contraction's
/// result, with the sum of that over rows. Requires that biases and roundings are in contractions already.
void absorbGelus(mlir::ModuleOp module);

/// Moves casts from a low-precision type after ops that only move elements, so that these move fewer bytes.
void sinkWideningCasts(mlir::ModuleOp module);

/// Clones every constant that a repeat carries, or that is yielded or returned, for each such use: each becomes a
/// buffer of its own.
void separateStoredConstants(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_PREPARE_H
