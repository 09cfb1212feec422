//===- Pipeline.h - the order of the phases -------------------------------===//

#ifndef TESSERA_PASSES_PIPELINE_H
#define TESSERA_PASSES_PIPELINE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "passes/OutputFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <functional>

namespace tessera {

class FrontierMemory;
class SearchMemory;

/// All phases in order, `parse` first, up to `schedule`.
llvm::ArrayRef<llvm::StringLiteral> phaseNames();

/// Position of a phase in the order, or -1.
int phaseIndex(llvm::StringRef phase);

struct PipelineOptions {
  std::string compileTo;       ///< stop after this phase; empty: run them all
  DumpFolder *dumps = nullptr; ///< write the IR after each phase here; null: do not
  bool timing = false;         ///< print the time each phase took to standard error
  std::function<void(llvm::StringRef phase, mlir::ModuleOp module)> afterPhase; ///< called after each phase that runs
  int threads = 0;                    ///< that a program for a CPU will have; 0: one
  bool explains = false;              ///< `shard` also prices what the user fixed, and what it rejected
  bool findsFrontier = false;         ///< `rematerialize` lists its plans even if nothing is asked for
  bool pricesValues = false;          ///< `rematerialize` prices the alternative of each value of a layer
  SearchMemory *searches = nullptr;   ///< what `shard` found in earlier runs; null: nothing
  FrontierMemory *frontier = nullptr; ///< what `rematerialize` found in an earlier run; null: nothing
};

/// What the dump of a phase is called: `10-fuse.mlir`, or `10-fuse.loc.mlir` for the one with source locations.
std::string dumpName(int index, bool withLocations);

/// Adds the passes of the phases after `reached`, up to `last`, without their verify passes.
void addPhases(mlir::OpPassManager &pm, llvm::StringRef reached, llvm::StringRef last);

/// Runs the phases after the one the module's `tsr.phase` names, each followed by its verify pass.
llvm::LogicalResult runPipeline(mlir::ModuleOp module, const PipelineOptions &options);

} // namespace tessera

#endif // TESSERA_PASSES_PIPELINE_H
