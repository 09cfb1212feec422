//===- Pipeline.cpp - the order of the phases -----------------------------===//

#include "passes/Pipeline.h"
#include "ir/program/ModuleText.h"
#include "ir/program/Program.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace mlir;
using namespace tessera;

namespace {
struct Phase {
  llvm::StringLiteral name;
  void (*addPasses)(OpPassManager &);
};
} // namespace

/// The pipeline. `parse` is the frontend's work; a module enters here at any phase.
static constexpr Phase phases[] = {
    {"parse", [](OpPassManager &) {}},
    // Raises long-hand mathematics first: composites bring better adjoints than their parts.
    {"simplify", [](OpPassManager &pm) { pm.addPass(createSimplifyPass()); }},
    // Differentiation leaves zeros, duplicates and unused values behind.
    {"differentiate",
     [](OpPassManager &pm) { pm.addPass(createDifferentiatePass()), pm.addPass(createSimplifyPass()); }},
    // Before the optimizer is written out: updates tell which gradients stay in f32.
    {"precision", [](OpPassManager &pm) { pm.addPass(createPrecisionPass()), pm.addPass(createSimplifyPass()); }},
    {"optimize", [](OpPassManager &pm) { pm.addPass(createOptimizePass()), pm.addPass(createSimplifyPass()); }},
    {"chunk", [](OpPassManager &pm) { pm.addPass(createChunkPass()), pm.addPass(createSimplifyPass()); }},
    {"layout", [](OpPassManager &pm) { pm.addPass(createLayoutPass()); }},
    {"fuse", [](OpPassManager &pm) { pm.addPass(createFusePass()); }},
    {"tile", [](OpPassManager &pm) { pm.addPass(createTilePass()); }},
    {"schedule", [](OpPassManager &pm) { pm.addPass(createSchedulePass()); }},
};

ArrayRef<llvm::StringLiteral> tessera::phaseNames() {
  static const auto names = llvm::map_to_vector(phases, [](const Phase &phase) { return phase.name; });
  return names;
}

int tessera::phaseIndex(StringRef phase) {
  auto it = llvm::find(phaseNames(), phase);
  return it == phaseNames().end() ? -1 : it - phaseNames().begin();
}

std::string tessera::dumpName(int index, bool withLocations) {
  return ((index < 10 ? "0" : "") + llvm::Twine(index) + "-" + phases[index].name +
          (withLocations ? ".loc.mlir" : ".mlir"))
      .str();
}

/// Writes `NN-phase.mlir`, and a twin with locations beside it.
static LogicalResult dump(ModuleOp module, DumpFolder &folder, int index) {
  for (bool withLocations : {false, true}) {
    std::string text = moduleText(module, withLocations);
    if (failed(folder.write(dumpName(index, withLocations), text))) return failure();
  }
  return success();
}

LogicalResult tessera::runPipeline(ModuleOp module, const PipelineOptions &options) {
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  int start = reached ? phaseIndex(reached.getValue()) : -1;
  if (start < 0) return module.emitError("expected `tsr.phase` to name a phase");
  int last = options.compileTo.empty() ? static_cast<int>(std::size(phases)) - 1 : phaseIndex(options.compileTo);
  if (options.dumps && options.dumps->isWanted() && failed(dump(module, *options.dumps, start))) return failure();
  for (int index = start + 1; index <= last; ++index) {
    auto begin = std::chrono::steady_clock::now();
    PassManager pm(module.getContext());
    phases[index].addPasses(pm);
    pm.addPass(createVerifyPhasePass(VerifyPhasePassOptions{phases[index].name.str()}));
    if (failed(pm.run(module))) return failure();
    if (options.timing)
      llvm::errs() << phases[index].name << ": "
                   << std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e3 << " ms\n";
    if (options.dumps && options.dumps->isWanted() && failed(dump(module, *options.dumps, index))) return failure();
    if (options.afterPhase) options.afterPhase(phases[index].name, module);
  }
  return success();
}
