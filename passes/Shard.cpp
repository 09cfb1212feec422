//===- Shard.cpp - the driver of `tsr-shard` ------------------------------===//
//
// 1. Check what the user says of the mesh and of axes that are laid along mesh axes.
// 2. With leaves: the mesh axis that the batch is laid along divides the repeat over leaves.
// 3. Find what the states are divided along (sharding/StateShardings.h).
// 4. Assign a sharding to every op (sharding/Assignment.h), and record it.
// 5. Warn if ranks do the same work (sharding/DividedWork.h), and record what each line is divided along.
//
// With `tsr.devices` a search (sharding/search/) takes the place of 2 to 4, or a plan that an earlier one left
// (sharding/search/ShardingPlan.h).
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/TiledLater.h"
#include "passes/cost/MachineShare.h"
#include "passes/sharding/DividedLines.h"
#include "passes/sharding/DividedWork.h"
#include "passes/sharding/LeafRepeat.h"
#include "passes/sharding/MeshRules.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/Alternatives.h"
#include "passes/sharding/search/SearchMemory.h"
#include "passes/sharding/search/ShardingPlan.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_SHARDPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// 2. Returns what is wrong; empty if nothing is.
static std::string divideLeaves(ModuleOp module, const Sharding &rules, const ProgramMesh &mesh) {
  for (func::FuncOp function : functionsWithLeaves(module)) {
    std::optional<LeafRepeat> leaves = findLeafRepeat(function);
    StringRef along = leaves ? rules.meshAxis(leaves->batch) : StringRef();
    if (along.empty()) continue;
    int64_t count = leafCount(module), ranks = mesh.size(along);
    if (count % ranks != 0)
      return "the " + std::to_string(ranks) + " ranks along `" + along.str() + "` cannot divide " +
             std::to_string(count) + " leaves evenly: make them a power of two, at most " + std::to_string(count);
    leaves->repeat->setAttr(attrs::along, StringAttr::get(module.getContext(), along));
  }
  return "";
}

/// Whoever asks for the library's sums has a target with such a library, and does not ask for an order of sums too.
static std::string problemOfReductions(ModuleOp module) {
  ShardSettings settings = ShardSettings::of(module);
  if (!settings.addsInLibrary) return "";
  if (settings.leaves > 0)
    return "--leaves fixes the order of sums, and with --reductions=library the library chooses it: leave out one of "
           "them";
  FailureOr<Target> target = Target::read(module);
  bool isGpu = succeeded(target) && target->isGpu();
  return isGpu ? "" : "ranks on CPUs exchange bytes only: leave out --reductions=library, or compile for GPUs";
}

/// Whether what the IR says of states and of all functions, or of one, may be what a search found.
static bool isValid(ModuleOp module, func::FuncOp function, std::string &problem) {
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    std::string place = userLine(diagnostic.getLocation());
    problem = (place.empty() ? "" : place + ": ") + diagnostic.str();
    return success();
  });
  ProgramMesh mesh = ProgramMesh::of(module);
  if (failed(verifyNoSlicedState(module))) return false;
  if (!function) return succeeded(verifyShardings(module, mesh));
  return succeeded(verifyStateShardings(module, mesh)) && succeeded(verifyShardings(function, mesh));
}

/// The naming of the axes of a mesh with which the plan was found: what the user names has its name, and nothing else.
static std::optional<PinnedMesh> namingOf(ModuleOp module, const ShardingPins &pins, ArrayRef<AxisAttr> mesh) {
  SmallVector<int64_t> ranks = llvm::map_to_vector(mesh, [](AxisAttr axis) { return axis.getSize(); });
  std::string problem;
  std::optional<PinnedMesh> best;
  size_t mostNamed = 0;
  for (PinnedMesh &naming : pins.namingsOf(ranks, problem)) {
    size_t named = 0;
    bool suits = llvm::all_of(llvm::zip_equal(naming.names, mesh), [&](const auto &pair) {
      auto [name, axis] = pair;
      named += !name.empty();
      return name.empty() ? !llvm::is_contained(pins.getNamed(), axis.getName()) : name == axis.getName();
    });
    if (!suits || (best && named <= mostNamed)) continue;
    best = std::move(naming), mostNamed = named;
  }
  return best;
}

namespace {
struct ShardPass : tessera::impl::ShardPassBase<ShardPass> {
  using ShardPassBase::ShardPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (int64_t devices = ShardSettings::of(module).devices; devices > 0) {
      std::string problem = devices > 1 ? problemOfReductions(module) : "";
      if (problem.empty()) problem = problemOfPins(module, devices);
      if (!problem.empty()) return refuse(problem);
      if (devices > 1) return search(devices);
    }
    ProgramMesh mesh = ProgramMesh::of(module);
    if (mesh.getAxes().empty()) return;
    Sharding rules(module->getAttrOfType<DictionaryAttr>(attrs::shard));
    std::string problem = problemOfMesh(module, mesh);
    if (problem.empty()) problem = problemOfReductions(module);
    if (problem.empty()) problem = problemOfRules(module, rules, mesh);
    if (problem.empty()) problem = divideLeaves(module, rules, mesh);
    if (!problem.empty()) return refuse(problem);
    Assignment assignment(mesh, rules, ShardSettings::of(module).zeroLevel() >= ZeroLevel::Gradients);
    std::optional<llvm::StringMap<Sharding>> ofState = StateShardings(module, mesh, assignment).find(problem);
    if (ofState) problem = problemOfUnused(module, mesh, rules, *ofState);
    if (!problem.empty()) return refuse(problem);
    for (StateOp state : stateTable(module))
      state->setAttr(attrs::sharding, (*ofState)[state.getPath()].getAttribute(&getContext()));
    for (func::FuncOp function : entryFunctions(module)) {
      assignment.assign(function, *ofState);
      assignment.record(function);
    }
    finish(ShardingDecision::User);
  }

  /// Finds the mesh, and what is divided along its axes.
  void search(int64_t devices) {
    ModuleOp module = getOperation();
    FailureOr<Target> target = Target::read(module);
    if (failed(target)) return signalPassFailure();
    MachineShare share = MachineShare::of(*target, threads, ranksOfMachine(module));
    SearchDevices on{*target, CostModel(share.target, share.threads), Machines::of(module),
                     LocalizePassOptions().leastDivided};
    if (module->hasAttr(planAttr)) return keepPlan(on);
    MemorySettings settings = MemorySettings::of(module);
    std::optional<int64_t> memory = settings.budget;
    if (!memory) memory = share.target.figures.memoryBytes;
    if (auto counted = module->getAttrOfType<IntegerAttr>(attrs::searchMemory)) {
      memory = counted.getInt();
      if (*memory < 0) memory = std::nullopt;
    }
    SearchOptions wanted;
    wanted.recomputes = settings.budget && settings.getMode() == RematMode::Auto;
    if (memory) wanted.bytes = static_cast<double>(*memory);
    wanted.tiled = contractionsTiledLater(module), wanted.memory = memoryOfSearches;
    std::optional<std::vector<Mesh>> notTaken = meshesNotTaken(module);
    if (!notTaken) return refuse(("expected lists of ranks in a list for `" + searchWithoutAttr + "`").str());
    wanted.notTaken = std::move(*notTaken);
    std::optional<ModuleSharding> found = findSharding(module, devices, on, wanted);
    if (!found)
      return refuse("no mesh of " + std::to_string(devices) + " devices suits the program and what is said of it");
    ShardSettings said = wordsOf(module);
    std::optional<ModuleSharding> unpinned;
    wanted.isPinned = false, wanted.notTaken.clear();
    if (explains && said.hasPins()) unpinned = findSharding(module, devices, on, wanted);
    Builder builder(&getContext());
    auto amount = [&](StringRef name, double value) {
      return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
    };
    double seconds = found->step.cost.seconds;
    SmallVector<NamedAttribute> amounts{amount("bound", found->bound), amount("bytes", found->step.cost.bytes),
                                        amount("seconds", seconds)};
    // A limit of a search on behalf of a budget is not the budget, within which the program is in the end.
    if (settings.budget) memory = *settings.budget;
    if (memory && found->isWithin) amounts.push_back(amount("memory", static_cast<double>(*memory)));
    if (unpinned) amounts.push_back(amount("unpinned", std::min(unpinned->step.cost.seconds, seconds)));
    if (explains) {
      amounts.push_back(builder.getNamedAttr("decisions", describeAlternatives(module, *found, on)));
      amounts.push_back(builder.getNamedAttr("meshes", describeMeshes(module, *found)));
    }
    module->setAttr(attrs::foundSharding, builder.getDictionaryAttr(amounts));
    if (std::optional<double> other = found->otherMesh())
      module->setAttr(searchOtherAttr, builder.getF64FloatAttr(*other));
    tessera::record(module, *found);
    if (std::string problem = problemOfUnfollowed(module, said); !problem.empty()) return refuse(problem);
    ShardingDecision decision = found->memoryDecides ? ShardingDecision::Memory : ShardingDecision::Time;
    finish(found->isPinned ? ShardingDecision::User : decision);
  }

  /// Takes the sharding of `tsr.plan`. Other functions than the one that decides follow it, as in a search.
  void keepPlan(const SearchDevices &on) {
    ModuleOp module = getOperation();
    std::string problem;
    std::optional<ShardingPlan> plan = ShardingPlan::recordedIn(module, problem);
    if (plan) problem = plan->whatChanged(module);
    if (!problem.empty()) return refuse(problem);
    ModuleSharding kept;
    for (const auto &[name, ranks] : plan->mesh) kept.mesh.push_back(tessera::axis(&getContext(), name, ranks));
    if (problem = problemOfMesh(module, ProgramMesh(kept.mesh)); !problem.empty()) return refuse(problem);
    ShardingPins pins(module, ShardSettings::of(module));
    std::optional<PinnedMesh> naming = namingOf(module, pins, kept.mesh);
    if (!naming) return refuse("its mesh does not have the axes that --mesh, --shard and --zero name");
    kept.isPinned = pins.areGiven(), kept.pins = std::move(*naming);
    kept.tiled = contractionsTiledLater(module);
    kept.ofStates = plan->shardingsOfStates(&getContext());
    func::FuncOp deciding = decidingFunction(module);
    kept.tables.emplace_back(deciding, plan->tableOf(deciding));
    tessera::record(module, kept);
    if (!isValid(module, deciding, problem)) return refuse(problem);
    if (!divideOtherFunctions(module, kept, on)) return refuse("other functions than `step` cannot follow it");
    tessera::record(module, kept);
    if (!isValid(module, {}, problem)) return refuse(problem);
    module->setAttr(attrs::foundSharding, plan->figures(&getContext()));
    module->removeAttr(planAttr);
    finish(ShardingDecision::User);
  }

  /// 5. What `decision` made is recorded.
  void finish(ShardingDecision decision) {
    ModuleOp module = getOperation();
    func::FuncOp deciding = decidingFunction(module);
    if (ArrayAttr lines = deciding ? describeDividedLines(deciding) : ArrayAttr(); lines && !lines.empty())
      module->setAttr(dividedLinesAttr, lines);
    warnOfUndividedWork(module, ProgramMesh::of(module), decision);
  }

  SearchMemory *memoryOfSearches = nullptr; ///< null: of this run only

  /// The user's words, not the compiler, are at fault.
  void refuse(const std::string &problem) {
    getOperation()->setAttr(attrs::problem, StringAttr::get(&getContext(), problem));
    getOperation().emitError(problem);
    signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tessera::createShardPass(ShardPassOptions options, SearchMemory *searches) {
  auto pass = std::make_unique<ShardPass>(options);
  pass->memoryOfSearches = searches;
  return pass;
}
