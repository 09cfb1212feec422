//===- NewState.h - state that a pass adds to the program ------------------===//

#ifndef TESSERA_PASSES_STATE_NEWSTATE_H
#define TESSERA_PASSES_STATE_NEWSTATE_H

#include "ir/dialect/GraphBuilder.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// Adds state to the state table and to the entry functions `init` and `step`. Signatures are changed once, by
/// `finish`: a change for each entry would copy all attributes each time.
class NewState {
public:
  explicit NewState(mlir::ModuleOp module);

  /// The entry of that path; null if there is none.
  StateOp find(llvm::StringRef path) const { return states.lookup(path); }
  /// The entry function `step`; null if the module has none.
  mlir::func::FuncOp getStep() const { return step; }

  /// An entry that `init` sets to `initial` and `step` takes as an argument, which is returned. The path must be new.
  mlir::Value add(llvm::StringRef path, llvm::StringRef kind, NamedTensorType type, mlir::ArrayAttr order,
                  double initial, mlir::Location loc);

  /// Makes `step` return these values of the entries added last.
  void setResults(llvm::ArrayRef<mlir::Value> values);

  /// Writes the signatures of `init` and `step`, in which new state follows all other state.
  void finish();

private:
  mlir::ModuleOp module;
  mlir::func::FuncOp init, step; ///< null if the module lacks them
  llvm::StringMap<StateOp> states;
  StateOp lastState;
  unsigned firstArgument = 0;                      ///< position of new state among the arguments of `step`
  llvm::SmallVector<std::string> paths;            ///< of all entries added, in order
  llvm::SmallVector<mlir::Value> initial, stepped; ///< by path: at first, and after the step
};

} // namespace tessera

#endif // TESSERA_PASSES_STATE_NEWSTATE_H
