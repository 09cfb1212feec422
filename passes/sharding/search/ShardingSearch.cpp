//===- ShardingSearch.cpp - which sharding takes the least time -----------===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/SearchMemory.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/ErrorHandling.h"

#define DEBUG_TYPE "tsr-sharding-search"

using namespace mlir;
using namespace tessera;

/// More axes make more labels than they save time.
static constexpr unsigned mostSearchedAxes = 3;

std::vector<Mesh> tessera::meshesOf(int64_t devices, unsigned mostAxes) {
  std::vector<Mesh> meshes;
  if (devices == 1) return {{}};
  if (mostAxes == 0) return {};
  for (int64_t first = devices; first > 1; --first) {
    if (devices % first != 0) continue;
    for (Mesh &rest : meshesOf(devices / first, mostAxes - 1)) {
      rest.insert(rest.begin(), first);
      meshes.push_back(std::move(rest));
    }
  }
  return meshes;
}

std::vector<Mesh> tessera::meshesOf(int64_t devices, const ShardingPins &pins) {
  if (pins.haveMesh()) return {pins.getMesh()};
  unsigned least = pins.getNamed().size();
  std::vector<Mesh> meshes = meshesOf(devices, std::max(least, mostSearchedAxes));
  llvm::erase_if(meshes, [&](const Mesh &mesh) { return mesh.size() < least; });
  return meshes;
}

/// Of meshes whose axes are the same in another order, the first. A mesh that the user gives is the only one. First
/// comes that of machines and their devices: others are given up sooner if they must be faster than a good one.
static std::vector<Mesh> distinctMeshes(int64_t count, const SearchDevices &devices, const ShardingPins &pins) {
  std::vector<Mesh> meshes;
  std::vector<RankLinks> links;
  for (Mesh &mesh : meshesOf(count, pins)) {
    RankLinks ofMesh(devices.target, mesh, devices.machines);
    if (llvm::any_of(links, [&](const RankLinks &known) { return known.isReorderingOf(ofMesh); })) continue;
    links.push_back(std::move(ofMesh));
    meshes.push_back(std::move(mesh));
  }
  auto natural = llvm::find_if(meshes, [&](const Mesh &mesh) {
    return devices.machines && mesh.size() == 2 && mesh.back() == devices.machines->devices;
  });
  if (natural != meshes.end()) std::rotate(meshes.begin(), natural, natural + 1);
  return meshes;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

std::optional<std::vector<Mesh>> tessera::meshesNotTaken(ModuleOp module) {
  std::vector<Mesh> meshes;
  Attribute recorded = module->getAttr(searchWithoutAttr);
  if (!recorded) return meshes;
  auto list = dyn_cast<ArrayAttr>(recorded);
  if (!list) return std::nullopt;
  for (Attribute entry : list) {
    auto ranks = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!ranks || ranks.size() > mostMeshAxes) return std::nullopt;
    meshes.emplace_back(ranks.asArrayRef());
  }
  return meshes;
}

void tessera::setMeshesNotTaken(ModuleOp module, const std::vector<Mesh> &meshes) {
  Builder b(module.getContext());
  auto list = llvm::map_to_vector(meshes, [&](const Mesh &m) -> Attribute { return b.getDenseI64ArrayAttr(m); });
  setOrRemoveAttr(module, searchWithoutAttr, meshes.empty() ? ArrayAttr() : b.getArrayAttr(list));
}

func::FuncOp tessera::decidingFunction(ModuleOp module) {
  SmallVector<func::FuncOp> functions = entryFunctions(module);
  auto step = llvm::find_if(functions, [](func::FuncOp function) { return function.getName() == "step"; });
  return step != functions.end() ? *step : functions.empty() ? func::FuncOp() : functions.front();
}

/// The axes that rows of data are stacked along. Where no data is described, the first ones of inputs.
static SmallVector<AxisId> rowAxes(const ShardingGraph &graph, ModuleOp module) {
  SmallVector<AxisId> rows;
  for (StringRef axis : batchAxes(module)) rows.push_back(graph.axisNumber(axis));
  if (!rows.empty()) return rows;
  for (const ShardingNode &node : graph.getNodes())
    if (node.kind == ShardingNode::Kind::Input && !node.axes.empty()) rows.push_back(node.axes.front().id);
  return rows;
}

/// The names that the user gave, and else some that say what a mesh axis is for: along `data` most of what is divided
/// is divided by rows of data, along `tensor` by other axes, and along `replica` nothing is divided.
static SmallVector<StringRef> nameMesh(const ShardingGraph &graph, const MeshSolution &solution,
                                       const PinnedMesh &pinned, ModuleOp module) {
  SmallVector<StringRef> names;
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  SmallVector<StringRef> taken = declared ? tessera::names(declared) : SmallVector<StringRef>();
  SmallVector<AxisId> rows = rowAxes(graph, module);
  llvm::append_range(taken, pinned.names);
  for (unsigned i = 0; i < solution.mesh.size(); ++i) {
    if (!pinned.names[i].empty()) {
      names.push_back(pinned.names[i]);
      continue;
    }
    int ofRows = 0, ofOthers = 0;
    bool dividesNothing = true;
    for (const auto &[node, form] : llvm::zip(graph.getNodes(), solution.forms)) {
      AxisId axis = form.along[i];
      if (axis == wholeForm || axis == pendingForm) continue;
      dividesNothing = false;
      if (node.kind == ShardingNode::Kind::Ops) ++(llvm::is_contained(rows, axis) ? ofRows : ofOthers);
    }
    std::string base = dividesNothing ? "replica" : ofRows > ofOthers ? "data" : "tensor", name = base;
    for (unsigned number = 2; llvm::is_contained(taken, name); ++number) name = base + std::to_string(number);
    names.push_back(StringAttr::get(module.getContext(), name).getValue());
    taken.push_back(names.back());
  }
  return names;
}

namespace {
/// The search on all meshes. First the forms of least time; where these have too many bytes, then others, in the order
/// of the meshes' bounds.
class AllMeshes {
public:
  AllMeshes(const ShardingGraph &graph, const SearchDevices &devices, const SearchLimits &limits,
            const ShardingPins &pins, ArrayRef<Mesh> notTaken, StepSearch &least)
      : graph(graph), devices(devices), limits(limits), pins(pins), notTaken(notTaken), least(least) {}

  StepSearch run(ArrayRef<Mesh> meshes);

private:
  struct Open {
    MeshSolution solution;
    PinnedMesh naming;
    size_t searched; ///< the number of the mesh
  };
  void setLimits(const PinnedMesh &naming);
  void take(Open &&found);

  const ShardingGraph &graph;
  const SearchDevices &devices;
  SearchLimits limits;
  const ShardingPins &pins;
  ArrayRef<Mesh> notTaken;
  StepSearch best;
  StepSearch &least; ///< what is known to take the fewest bytes, if nothing is within the limits
};
} // namespace

void AllMeshes::setLimits(const PinnedMesh &naming) {
  limits.seconds = best.solution ? (1 - searchTolerance) * best.solution->cost.seconds : INFINITY;
  if (best.solution) limits.shares = best.solution->shares;
  limits.pins = pins.areGiven() ? &naming : nullptr;
}

void AllMeshes::take(Open &&open) {
  MeshSolution &found = open.solution;
  LLVM_DEBUG({
    llvm::dbgs() << "mesh";
    for (auto [ranks, name] : llvm::zip(found.mesh, open.naming.names)) llvm::dbgs() << ' ' << name << ' ' << ranks;
    llvm::dbgs() << ": " << found.cost.seconds << " s, bound " << found.bound << ", " << found.cost.bytes
                 << " bytes, least " << found.leastCost.bytes << ", nodes " << found.effort.nodes << ", passes "
                 << found.effort.passes << '\n';
  });
  // Of two namings the one with fewer seconds counts.
  constexpr double sameSeconds = 2 * searchTolerance;
  SearchedMesh &mesh = best.searched[open.searched];
  if (found.bound < mesh.seconds) {
    mesh.seconds = found.bound;
    mesh.isExact = found.isFound() && found.cost.seconds <= (1 + sameSeconds) * found.bound;
  }
  best.bound = std::min(best.bound, found.bound);
  if (llvm::is_contained(notTaken, found.mesh)) return;
  best.secondsBeyond = std::min(best.secondsBeyond, found.secondsBeyond);
  bool isLeast =
      !found.leastForms.empty() && (!least.solution || found.leastCost.bytes < least.solution->leastCost.bytes);
  if (isLeast && !found.isFound()) least.solution = found, least.pins = open.naming;
  if (found.isFound()) best.solution = std::move(found), best.pins = std::move(open.naming);
}

StepSearch AllMeshes::run(ArrayRef<Mesh> meshes) {
  std::vector<Open> open;
  std::string problem; // of namings that do not suit
  for (const Mesh &mesh : meshes) {
    best.searched.push_back({mesh, INFINITY});
    for (PinnedMesh &naming : pins.namingsOf(mesh, problem)) {
      setLimits(naming);
      MeshSolution found = solveForTime(graph, mesh, devices, limits);
      bool isOpen = found.isBeyond();
      Open result{std::move(found), std::move(naming), best.searched.size() - 1};
      isOpen ? open.push_back(std::move(result)) : take(std::move(result));
    }
  }
  llvm::stable_sort(open, [](const Open &a, const Open &b) { return a.solution.bound < b.solution.bound; });
  for (Open &each : open) {
    setLimits(each.naming);
    bool mayBeTaken = !llvm::is_contained(notTaken, each.solution.mesh) && each.solution.bound < limits.seconds;
    if (mayBeTaken) solveWithin(graph, devices, limits, each.solution);
    take(std::move(each));
  }
  return std::move(best);
}

/// The forms of the states of a function that are divided as in others.
static DenseMap<unsigned, Form> formsOfStates(const ShardingGraph &graph, const llvm::StringMap<Sharding> &ofStates,
                                              ArrayRef<StringRef> meshNames) {
  DenseMap<unsigned, Form> forms;
  for (auto [i, node] : llvm::enumerate(graph.getNodes()))
    for (Operation *op : node.ops)
      if (auto state = dyn_cast<StateOp>(op)) {
        Sharding ofState = ofStates.lookup(state.getPath());
        Form &form = forms[i];
        for (auto [along, name] : llvm::enumerate(meshNames))
          form.along[along] = graph.axisNumber(ofState.axisAlong(name));
      }
  return forms;
}

/// The fewest bytes alone would be had for any number of seconds.
static constexpr double moreThanLeastBytes = 1.02;

static StepSearch searchStep(const ShardingGraph &graph, int64_t count, const SearchDevices &devices,
                             const SearchOptions &options, const ShardingPins &pins) {
  std::vector<Mesh> meshes = distinctMeshes(count, devices, pins);
  SearchLimits limits;
  limits.bytes = options.bytes, limits.recomputes = options.recomputes;
  StepSearch least, best = AllMeshes(graph, devices, limits, pins, options.notTaken, least).run(meshes);
  best.bytes = limits.bytes;
  if (best.solution || !least.solution) return best;
  limits.bytes = moreThanLeastBytes * least.solution->leastCost.bytes;
  best = AllMeshes(graph, devices, limits, pins, options.notTaken, least).run(meshes);
  best.bytes = limits.bytes, best.isWithin = false;
  if (best.solution) return best;
  best.solution = least.solution, best.pins = least.pins;
  best.solution->forms = std::move(best.solution->leastForms), best.solution->cost = best.solution->leastCost;
  return best;
}

std::optional<double> ModuleSharding::otherMesh() const {
  std::optional<double> fewest;
  for (const SearchedMesh &searched : meshes)
    if (searched.mesh != step.mesh && std::isfinite(searched.seconds) && !llvm::is_contained(notTaken, searched.mesh))
      fewest = std::min(fewest.value_or(INFINITY), searched.seconds);
  return fewest;
}

std::optional<ModuleSharding> tessera::findSharding(ModuleOp module, int64_t count, const SearchDevices &devices,
                                                    const SearchOptions &options) {
  func::FuncOp deciding = decidingFunction(module);
  if (!deciding) return std::nullopt;
  ModuleSharding result;
  result.tiled = options.tiled;
  ShardingGraph graph(deciding, result.tiled);
  ShardingPins pins(module, options.isPinned ? ShardSettings::of(module) : ShardSettings());
  SearchMemory ofThisRun;
  SearchMemory &memory = options.memory ? *options.memory : ofThisRun;
  const StepSearch *known = memory.find(deciding, options);
  if (!known) known = memory.remember(deciding, options, searchStep(graph, count, devices, options, pins));
  const StepSearch &best = *known;
  result.isWithin = best.isWithin;
  if (!best.solution && !options.notTaken.empty()) { // no other mesh suits
    SearchOptions all = options;
    all.notTaken.clear();
    return findSharding(module, count, devices, all);
  }
  if (!best.solution) return std::nullopt;
  SmallVector<StringRef> meshNames = nameMesh(graph, *best.solution, best.pins, module);
  for (auto [name, ranks] : llvm::zip(meshNames, best.solution->mesh))
    result.mesh.push_back(tessera::axis(module.getContext(), name, ranks));
  FoundSharding ofStep(graph, best.solution->forms, meshNames);
  result.ofStates = best.pins.ofStates; // those that the step lacks are as the user says
  for (const auto &[path, sharding] : ofStep.getStates()) result.ofStates[path] = sharding;
  result.tables.emplace_back(deciding, ofStep.getTable());
  result.notTaken = options.notTaken, result.meshes = best.searched, result.bytes = best.bytes;
  result.isPinned = pins.areGiven(), result.pins = best.pins;
  result.step = *best.solution, result.bound = std::min(best.bound, best.solution->cost.seconds);
  result.memoryDecides = best.secondsBeyond < best.solution->cost.seconds;
  if (divideOtherFunctions(module, result, devices)) return result;
  // All of them may be whole, and their states are divided as they may be everywhere.
  if (!result.isPinned) llvm::reportFatalInternalError("no sharding of other functions than `step` was found");
  return std::nullopt;
}

bool tessera::divideOtherFunctions(ModuleOp module, ModuleSharding &sharding, const SearchDevices &devices) {
  SmallVector<StringRef> meshNames;
  Mesh mesh;
  for (AxisAttr axis : sharding.mesh) meshNames.push_back(axis.getName()), mesh.push_back(axis.getSize());
  for (func::FuncOp function : entryFunctions(module)) {
    if (function == sharding.tables.front().first) continue;
    ShardingGraph graph(function, sharding.tiled);
    SearchLimits limits;
    limits.fixed = formsOfStates(graph, sharding.ofStates, meshNames);
    limits.pins = sharding.isPinned ? &sharding.pins : nullptr;
    MeshSolution found = solveForTime(graph, mesh, devices, limits);
    if (!found.isFound()) return false;
    sharding.tables.emplace_back(function, FoundSharding(graph, found.forms, meshNames).getTable());
  }
  return true;
}

void tessera::record(ModuleOp module, ModuleSharding &sharding) {
  ProgramMesh::set(module, sharding.mesh);
  for (StateOp state : stateTable(module))
    state->setAttr(attrs::sharding, sharding.ofStates[state.getPath()].getAttribute(module.getContext()));
  for (auto &[function, table] : sharding.tables) table.record(function);
}
