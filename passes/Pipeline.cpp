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
  void (*addPasses)(OpPassManager &, const PipelineOptions &);
};
} // namespace

/// The pipeline. `parse` is the frontend's work; a module enters after any phase. What each pass does is in Passes.td;
/// the comments here say why it runs at this point.
static constexpr Phase phases[] = {
    {"parse", [](auto &, auto &) {}},
    // Before `differentiate`: composites have better adjoints than the primitive ops that they are raised from.
    {"simplify", [](auto &pm, auto &) { pm.addPass(createSimplifyPass()); }},
    // On the simplified forward pass, so that no dead op is differentiated; before `precision`, whose decisions cover
    // both halves of the step. It leaves zeros, duplicates and unused values, which `simplify` removes.
    {"differentiate",
     [](auto &pm, auto &) { pm.addPass(createDifferentiatePass()), pm.addPass(createSimplifyPass()); }},
    // After `differentiate`, so that the backward pass reads the same rounded values as the forward pass. Before
    // `optimize`: `tsr.clip` and `tsr.update` say which gradients belong to parameters and stay in f32.
    {"precision", [](auto &pm, auto &) { pm.addPass(createPrecisionPass()), pm.addPass(createSimplifyPass()); }},
    // Before `chunk` and `fuse`: updates are elementwise chains to be fused, and the state that they add needs a layout
    // and a place.
    {"optimize", [](auto &pm, auto &) { pm.addPass(createOptimizePass()), pm.addPass(createSimplifyPass()); }},
    // After `optimize`: the updates of divided states are divided like them. Before `chunk`, which divides what a rank
    // has. `precision` has fixed which values ranks exchange in which type.
    // `leaves` is a part of it: sums in a tree are what ranks divide without changing a bit.
    {"shard",
     [](OpPassManager &pm, const PipelineOptions &options) {
       pm.addPass(createLeavesPass());
       pm.addPass(createShardPass({std::max(1, options.threads), options.explains}, options.searches));
     }},
    // Apart from `shard`, so that what it decided can be read, and edited.
    {"partition", [](auto &pm, auto &) { pm.addPass(createPartitionPass()), pm.addPass(createSimplifyPass()); }},
    // Then sums in trees become additions: only now it is known which of them are those of a rank.
    {"localize",
     [](auto &pm, auto &) {
       pm.addPass(createLocalizePass()), pm.addPass(createTreeSumsPass()), pm.addPass(createSimplifyPass());
     }},
    // After `precision` and `optimize`, which fix how large results are and what consumes them; before `layout`,
    // which makes the axes of repeats the outermost ones. Which results are stored is known after `tile` only; so it
    // runs the phases up to there on a copy first.
    {"chunk", [](auto &pm, auto &) { pm.addPass(createChunkPass()), pm.addPass(createSimplifyPass()); }},
    // After all rewrites of algebra, which need canonical types; before `fuse`, which needs to know which contractions
    // are GEMMs, which ops are views and which axis is contiguous.
    // `join` is a part of it: it needs canonical types, and only `layout` can put the parts of a joined value in place.
    {"layout", [](auto &pm, auto &) { pm.addPass(createJoinPass()), pm.addPass(createLayoutPass()); }},
    // Before `tile` and `schedule`, which treat kernels and GEMMs as units.
    {"fuse", [](auto &pm, auto &) { pm.addPass(createFusePass()); }},
    // After `fuse`: a tiled op consists of whole kernels and GEMMs. Before `schedule`: matrices inside it need no
    // place.
    {"tile", [](auto &pm, auto &) { pm.addPass(createTilePass()); }},
    // After `tile`: now it is known what is stored. Before `schedule`, which places what remains.
    {"rematerialize",
     [](OpPassManager &pm, const PipelineOptions &options) {
       pm.addPass(
           createRematerializePass({options.threads, options.findsFrontier, options.pricesValues}, options.frontier));
     }},
    // Last: only now is it known which values are stored. Code generation decides nothing that changes memory.
    {"schedule", [](auto &pm, auto &) { pm.addPass(createSchedulePass()); }},
};

ArrayRef<llvm::StringLiteral> tessera::phaseNames() {
  static const auto names = llvm::map_to_vector(phases, [](const Phase &phase) { return phase.name; });
  return names;
}

int tessera::phaseIndex(StringRef phase) {
  auto it = llvm::find(phaseNames(), phase);
  return it == phaseNames().end() ? -1 : it - phaseNames().begin();
}

void tessera::addPhases(OpPassManager &pm, StringRef reached, StringRef last) {
  for (int index = phaseIndex(reached) + 1; index <= phaseIndex(last); ++index) phases[index].addPasses(pm, {});
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
    phases[index].addPasses(pm, options);
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
