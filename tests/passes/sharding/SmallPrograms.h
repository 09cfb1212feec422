//===- SmallPrograms.h - programs whose shardings can all be tried --------===//

#ifndef TESSERA_TESTS_PASSES_SHARDING_SMALLPROGRAMS_H
#define TESSERA_TESTS_PASSES_SHARDING_SMALLPROGRAMS_H

#include "mlir/IR/OwningOpRef.h"
#include "passes/sharding/search/ShardingCosts.h"
#include <cmath>
#include <random>

namespace tessera::test {

/// A step with an input, two weights and some random ops, as after `optimize`; a weight may get its gradient.
mlir::OwningOpRef<mlir::ModuleOp> smallProgram(mlir::MLIRContext &context, unsigned seed);

/// A step with a stack of layers, their gradients, and new weights.
mlir::OwningOpRef<mlir::ModuleOp> smallLayers(mlir::MLIRContext &context, unsigned seed);

/// Processors on which it may pay to divide even these: random speeds of arithmetic, memory and links.
SearchDevices randomDevices(unsigned seed);

/// The least seconds of all labellings with at most so many bytes at each moment, by trying them; `most` if none takes
/// fewer.
double leastSecondsOf(ShardingCosts &costs, const ShardingGraph &graph, double mostBytes, double most = INFINITY);
/// How many labellings there are.
double countLabellings(const LabelProblem &problem);

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_SHARDING_SMALLPROGRAMS_H
