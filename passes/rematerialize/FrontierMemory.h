//===- FrontierMemory.h - a frontier that is found once -------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_FRONTIERMEMORY_H
#define TESSERA_PASSES_REMATERIALIZE_FRONTIERMEMORY_H

#include "mlir/IR/OwningOpRef.h"
#include "passes/rematerialize/Frontier.h"

namespace tessera {

/// The frontier of a step, for runs of the phase on other modules that differ in their budgets, or in entry functions
/// other than `step`. Device, threads and pins are the same in all of these runs.
class FrontierMemory {
public:
  /// Null if it is not that of `step`, wherever its ops come from in the text.
  const std::vector<FrontierPoint> *find(mlir::func::FuncOp step) const;
  /// Keeps a copy of the step. The pointer is valid until the next call.
  const std::vector<FrontierPoint> *remember(mlir::func::FuncOp step, std::vector<FrontierPoint> points);

private:
  mlir::OwningOpRef<mlir::func::FuncOp> known;
  std::vector<FrontierPoint> frontier;
};

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_FRONTIERMEMORY_H
