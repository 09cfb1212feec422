//===- Prepare.h - rewrites that make ops ready to be grouped ----------------===//

#ifndef TESSERA_PASSES_FUSION_PREPARE_H
#define TESSERA_PASSES_FUSION_PREPARE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Turns seeds into constants and folds axis ops of sources into the sources.
void foldSources(mlir::ModuleOp module);

/// Writes contractions that no library call computes as a product and a sum.
void expandSmallContractions(mlir::ModuleOp module);

/// Splits sums of a large tensor to few values into two steps, so that the first has enough independent parts.
void splitLargeReductions(mlir::ModuleOp module);

/// Moves additions into contractions: accumulators and sums of contractions into `init`, what varies along N only into
/// `bias`, in the type that the target's library adds it in. A scatter takes a contraction or an accumulator as its `init`.
void absorbAdditions(mlir::ModuleOp module);

/// Gives a contraction whose result is only rounded to its operands' type that type.
void absorbRoundings(mlir::ModuleOp module);

/// For a GPU: makes GELU of a contraction's result its epilogue, and so the derivative of GELU times a contraction's result, with the
/// sum of that over rows. After biases and roundings are in contractions.
void absorbGelus(mlir::ModuleOp module);

/// Moves casts from a low type behind what moves numbers about, so that those are moved as they lie in memory.
void sinkWideningCasts(mlir::ModuleOp module);

/// Gives every constant that a repeat carries, or that is yielded or returned, as many copies as it has such uses: each
/// becomes a buffer of its own.
void separateStoredConstants(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_PREPARE_H
