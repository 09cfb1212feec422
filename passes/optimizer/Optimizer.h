//===- Optimizer.h - the parts of `optimize` ------------------------------===//

#ifndef TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
#define TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H

#include "ir/GraphBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// Replaces a clip by the global norm and, where it has a limit, scaled gradients.
void expandClip(ClipOp clip);

/// The moments that an update keeps, by the last part of their path: `m` and `v`, or `momentum`, or none.
/// Fails, with a diagnostic, where the rule is unknown or lacks a hyperparameter.
llvm::FailureOr<llvm::SmallVector<llvm::StringRef>> momentNames(UpdateOp update);

/// Replaces an update by elementwise ops, given its moments before the step; returns them after it.
llvm::SmallVector<mlir::Value> expandUpdate(UpdateOp update, llvm::ArrayRef<mlir::Value> moments);

/// Enters optimizer state in the state table and in the entry functions. Signatures are written once, by `finish`: one
/// that grows by a moment at a time would be copied for each.
class MomentTable {
public:
  explicit MomentTable(mlir::ModuleOp module);

  /// Adds the moments of an update: entries `PATH.m` …, zeros in `init`, arguments of `step`. Returns the arguments.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> add(UpdateOp update);

  /// Makes `step` return the moments of the update added last.
  void setResults(llvm::ArrayRef<mlir::Value> moments);

  /// Writes the signatures of `init` and `step`, in which moments stand after all other state.
  void finish();

private:
  void addToTable(llvm::StringRef path, NamedTensorType type, mlir::ArrayAttr order, mlir::Location loc);

  mlir::ModuleOp module;
  mlir::func::FuncOp init, step; ///< null where the module lacks them
  llvm::StringMap<StateOp> states;
  StateOp lastState;
  unsigned firstArgument = 0;                      ///< where the moments stand among the arguments of `step`
  llvm::SmallVector<std::string> paths;            ///< of all moments, in order
  llvm::SmallVector<mlir::Value> initial, stepped; ///< by path: zeros, and the moments after the step
};

} // namespace tessera

#endif // TESSERA_PASSES_OPTIMIZER_OPTIMIZER_H
