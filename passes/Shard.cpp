//===- Shard.cpp - the driver of `tsr-shard` ------------------------------===//
//
// 1. Check what the user says of the mesh and of axes that are laid along mesh axes.
// 2. With leaves: the mesh axis that the batch is laid along divides the repeat over leaves.
// 3. Find what the states are divided along (sharding/StateShardings.h).
// 4. Assign a sharding to every op (sharding/Assignment.h), and record it.
// 5. Warn if ranks do the same work (sharding/DividedWork.h).
//
//===----------------------------------------------------------------------===//

#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Passes.h"
#include "passes/cost/MachineShare.h"
#include "passes/sharding/DividedWork.h"
#include "passes/sharding/LeafRepeat.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/ShardingSearch.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace tessera {
#define GEN_PASS_DEF_SHARDPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// What is wrong with a mesh: empty if nothing is.
static std::string problemOfMesh(const ProgramMesh &mesh, ArrayRef<StringRef> axes) {
  llvm::StringSet<> known;
  for (AxisAttr axis : mesh.getAxes()) {
    std::string name = "the mesh axis `" + axis.getName().str() + "`";
    if (axis.getSize() < 1) return name + " has no ranks";
    if (!known.insert(axis.getName()).second) return "the mesh has two axes `" + axis.getName().str() + "`";
    if (llvm::is_contained(axes, axis.getName())) return name + " is an axis of the program: rename it";
  }
  return "";
}

/// The largest size of an axis of that name; 0: no value has it.
static int64_t largestSize(ModuleOp module, StringRef axis) {
  int64_t largest = 0;
  module.walk([&](Operation *op) {
    auto note = [&](Type type) {
      if (auto tensor = dyn_cast<NamedTensorType>(type); tensor && tensor.hasAxis(axis))
        largest = std::max(largest, tensor.getSize(axis));
    };
    if (auto state = dyn_cast<StateOp>(op)) note(state.getTensorType());
    llvm::for_each(op->getResultTypes(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region) llvm::for_each(block.getArgumentTypes(), note);
  });
  return largest;
}

static std::string namesOfMesh(const ProgramMesh &mesh) {
  return llvm::join(llvm::map_range(mesh.getAxes(), [](AxisAttr axis) { return axis.getName(); }), ", ");
}

/// Axes that some value has with at least `ranks` elements, and that are laid along no mesh axis. A model may declare
/// more.
static std::string namesOfAxes(ModuleOp module, ArrayRef<StringRef> axes, int64_t ranks, const Sharding &rules = {}) {
  auto isPossible = [&](StringRef axis) { return largestSize(module, axis) >= ranks && rules.meshAxis(axis).empty(); };
  return llvm::join(llvm::make_filter_range(axes, isPossible), ", ");
}

/// What is wrong with the axes that the user lays along mesh axes: empty if nothing is.
static std::string problemOfRules(ModuleOp module, const Sharding &rules, const ProgramMesh &mesh,
                                  ArrayRef<StringRef> axes) {
  for (const Sharding::Part &part : rules.getParts()) {
    std::string what = "`" + part.axis.str() + "` is laid along `" + part.mesh.str() + "`, ";
    bool isReversed = mesh.has(part.axis) && llvm::is_contained(axes, part.mesh);
    if (isReversed)
      return what + "but `" + part.axis.str() + "` is the axis of the mesh: write " + part.mesh.str() + "=" +
             part.axis.str();
    if (!mesh.has(part.mesh)) return what + "which the mesh lacks; it has " + namesOfMesh(mesh);
    int64_t size = largestSize(module, part.axis), ranks = mesh.size(part.mesh);
    if (size == 0) return what + "but the program has no such axis; it has " + namesOfAxes(module, axes, 1);
    if (size < ranks)
      return what + "but has " + std::to_string(size) + (size == 1 ? " element for " : " elements for ") +
             std::to_string(ranks) + " ranks";
  }
  return "";
}

/// What is wrong if a mesh axis divides nothing: its ranks would all do the same.
static std::string problemOfUnused(ModuleOp module, const ProgramMesh &mesh, const Sharding &rules,
                                   ArrayRef<StringRef> axes, const llvm::StringMap<Sharding> &ofState) {
  for (AxisAttr axis : mesh.getAxes()) {
    StringRef name = axis.getName();
    bool isUsed = rules.uses(name) || llvm::any_of(ofState, [&](auto &entry) { return entry.second.uses(name); });
    if (isUsed || axis.getSize() == 1) continue;
    std::string problem = "nothing is laid along the mesh axis `" + name.str() + "`";
    std::string possible = namesOfAxes(module, axes, axis.getSize(), rules);
    return possible.empty() ? problem + ", and no axis of the program is long enough for its ranks"
                            : problem + ": add --shard AXIS=" + name.str() + ", with one of the axes " + possible;
  }
  return "";
}

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

namespace {
struct ShardPass : tessera::impl::ShardPassBase<ShardPass> {
  using ShardPassBase::ShardPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (int64_t devices = ShardSettings::of(module).devices; devices > 1) {
      if (std::string problem = problemOfReductions(module); !problem.empty()) return refuse(problem);
      return search(devices);
    }
    ProgramMesh mesh = ProgramMesh::of(module);
    if (mesh.getAxes().empty()) return;
    Sharding rules(module->getAttrOfType<DictionaryAttr>(attrs::shard));
    auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
    SmallVector<StringRef> axes = declared ? names(declared) : SmallVector<StringRef>();
    std::string problem = problemOfMesh(mesh, axes);
    if (problem.empty()) problem = problemOfReductions(module);
    if (problem.empty()) problem = problemOfRules(module, rules, mesh, axes);
    if (problem.empty()) problem = divideLeaves(module, rules, mesh);
    if (!problem.empty()) return refuse(problem);
    Assignment assignment(mesh, rules, ShardSettings::of(module).zero >= ZeroLevel::Gradients);
    std::optional<llvm::StringMap<Sharding>> ofState = StateShardings(module, mesh, assignment).find(problem);
    if (ofState) problem = problemOfUnused(module, mesh, rules, axes, *ofState);
    if (!problem.empty()) return refuse(problem);
    for (StateOp state : stateTable(module))
      state->setAttr(attrs::sharding, (*ofState)[state.getPath()].getAttribute(&getContext()));
    for (func::FuncOp function : entryFunctions(module)) {
      assignment.assign(function, *ofState);
      assignment.record(function);
    }
    warnOfUndividedWork(module, mesh);
  }

  /// Finds the mesh, and what is divided along its axes.
  void search(int64_t devices) {
    ModuleOp module = getOperation();
    FailureOr<Target> target = Target::read(module);
    if (failed(target)) return signalPassFailure();
    MemorySettings settings = MemorySettings::of(module);
    MachineShare share = MachineShare::of(*target, threads, ranksOfMachine(module));
    std::optional<int64_t> memory = settings.budget;
    if (!memory) memory = share.target.figures.memoryBytes;
    if (auto counted = module->getAttrOfType<IntegerAttr>(attrs::searchMemory)) memory = counted.getInt();
    SearchDevices on{*target, CostModel(share.target, share.threads), Machines::of(module),
                     LocalizePassOptions().leastDivided};
    bool recomputes = settings.budget && settings.getMode() == RematMode::Auto;
    double bytes = memory ? static_cast<double>(*memory) : INFINITY;
    std::optional<ModuleSharding> found = findSharding(module, devices, on, bytes, recomputes);
    if (!found)
      return refuse("the program has no entry function to divide among " + std::to_string(devices) + " devices");
    Builder builder(&getContext());
    auto amount = [&](StringRef name, double value) {
      return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
    };
    SmallVector<NamedAttribute> amounts{amount("bound", found->bound), amount("bytes", found->step.cost.bytes),
                                        amount("seconds", found->step.cost.seconds)};
    if (memory && found->isWithin) amounts.push_back(amount("memory", static_cast<double>(*memory)));
    module->setAttr(attrs::foundSharding, builder.getDictionaryAttr(amounts));
    ProgramMesh::set(module, found->mesh);
    for (StateOp state : stateTable(module))
      state->setAttr(attrs::sharding, found->ofStates[state.getPath()].getAttribute(&getContext()));
    for (auto &[function, table] : found->tables) table.record(function);
    warnOfUndividedWork(module, ProgramMesh::of(module),
                        found->memoryDecides ? ShardingDecision::Memory : ShardingDecision::Time);
  }

  /// The user's words, not the compiler, are at fault.
  void refuse(const std::string &problem) {
    getOperation()->setAttr(attrs::problem, StringAttr::get(&getContext(), problem));
    getOperation().emitError(problem);
    signalPassFailure();
  }
};
} // namespace
