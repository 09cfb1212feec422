//===- Prepare.h - rewrites before ops are grouped ------------------------===//

#ifndef TESSERA_PASSES_FUSION_PREPARE_H
#define TESSERA_PASSES_FUSION_PREPARE_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// Turns seeds into constants and folds axis ops of sources into the sources.
void foldSources(mlir::ModuleOp module);

/// Expands contractions that no GEMM can compute into a product and a sum.
void expandSmallContractions(mlir::ModuleOp module);

/// Splits reductions of many elements to few results in two, so that the first one has enough independent sums.
void splitLargeReductions(mlir::ModuleOp module);

/// Moves the addition of a stacked result to an accumulator into the repeat, where the contraction that computes a slot
/// of the stack adds to a slot of the accumulator.
void accumulateInRepeats(mlir::ModuleOp module);

/// Moves additions into contractions: accumulators and other contractions become `init`; operands that vary along N
/// only become `bias`, in the type in which the target's library adds it. A contraction or an accumulator becomes the
/// `init` of a scatter.
void absorbAdditions(mlir::ModuleOp module);

/// Where pointwise ops read the operand of a sum, and lead to ops that wait for the sum in another kernel: clones what
/// computes the operand, so that the sum runs alone and the pointwise ops run where nothing of them must be stored.
void separateEarlySums(mlir::ModuleOp module);

/// Changes the result type of a contraction whose only use is a rounding to its operands' type.
void absorbRoundings(mlir::ModuleOp module);

/// If the target's contractions add to the residual stream: makes the value that a contraction's result is added to its
/// `init`, where the sum may take its storage. Biases and roundings must already be in contractions.
void absorbResiduals(mlir::ModuleOp module);

/// If the target has GELU epilogues: makes GELU of a contraction's result its epilogue; likewise the product of the
/// derivative of GELU and a contraction's result, with its sum over rows. Biases and roundings must already be in
/// contractions.
void absorbGelus(mlir::ModuleOp module);

/// Moves casts from a low-precision type after ops that only move elements, so that these ops move fewer bytes.
void sinkWideningCasts(mlir::ModuleOp module);

/// Clones constants that repeats carry, or that are yielded or returned, so that each such use has a buffer of its own.
void separateStoredConstants(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_FUSION_PREPARE_H
