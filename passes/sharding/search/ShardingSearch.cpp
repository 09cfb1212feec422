//===- ShardingSearch.cpp - which sharding takes the least time -----------===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/search/LabelFrontier.h"
#include "llvm/Support/Debug.h"

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

/// Of meshes whose axes are the same in another order, the first. A mesh that the user gives is the only one.
static std::vector<Mesh> distinctMeshes(int64_t count, const SearchDevices &devices, const ShardingPins &pins) {
  std::vector<Mesh> meshes;
  std::vector<RankLinks> links;
  for (Mesh &mesh : meshesOf(count, pins)) {
    RankLinks ofMesh(devices.target, mesh, devices.machines);
    if (llvm::any_of(links, [&](const RankLinks &known) { return known.isReorderingOf(ofMesh); })) continue;
    links.push_back(std::move(ofMesh));
    meshes.push_back(std::move(mesh));
  }
  return meshes;
}

/// Searches stop this close to the least time: predictions are less exact.
static constexpr double searchTolerance = 1e-3;

MeshSolution tessera::solveMesh(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                                const SearchLimits &limits) {
  ShardingCosts costs(graph, mesh, devices);
  if (limits.pins)
    for (unsigned node = 0; node < graph.getNodes().size(); ++node)
      if (!limits.fixed.contains(node)) costs.restrict(node, limits.pins->allowed(graph, node, costs.labelsOf(node)));
  LabelProblem problem = costs.problem();
  for (const auto &[node, form] : limits.fixed)
    for (auto [label, candidate] : llvm::enumerate(costs.labelsOf(node)))
      if (!(candidate == form)) problem.addCost(node, label, {INFINITY, 0});
  MeshSolution result;
  result.mesh = Mesh(mesh);
  auto take = [&](const Labelling &labels, const LabelCost &cost) {
    result.cost = cost;
    for (auto [node, label] : llvm::enumerate(labels)) result.forms.push_back(costs.labelsOf(node)[label]);
  };
  SolverOptions options;
  options.tolerance = searchTolerance;
  SolverStart start;
  start.most = limits.seconds;
  LabelSolution fastest = solve(problem, {1, 0}, options, start);
  result.bound = fastest.bound, result.effort = fastest.effort;
  if (!fastest.found || fastest.bound >= limits.seconds) return result;
  if (fastest.cost.bytes <= limits.bytes) {
    if (fastest.value < limits.seconds) take(fastest.labels, fastest.cost);
    return result;
  }
  FrontierOptions frontierOptions;
  frontierOptions.solver = options;
  LabelFrontier frontier(problem, frontierOptions);
  BudgetAnswer answer = frontier.findWithin(limits.bytes);
  result.bound = std::max(result.bound, answer.bound), result.effort += frontier.getEffort();
  if (answer.found && answer.cost.seconds < limits.seconds) take(answer.labels, answer.cost);
  return result;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// The function whose time counts.
static func::FuncOp decidingFunction(ModuleOp module) {
  SmallVector<func::FuncOp> functions = entryFunctions(module);
  auto step = llvm::find_if(functions, [](func::FuncOp function) { return function.getName() == "step"; });
  return step != functions.end() ? *step : functions.empty() ? func::FuncOp() : functions.front();
}

/// The names that the user gave, and else some that say what a mesh axis is for: along `data` most of what is divided
/// is divided by rows of data, as inputs are, and along `tensor` by other axes.
static SmallVector<StringRef> nameMesh(const ShardingGraph &graph, const MeshSolution &solution,
                                       const PinnedMesh &pinned, ModuleOp module) {
  SmallVector<StringRef> names;
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  SmallVector<StringRef> taken = declared ? tessera::names(declared) : SmallVector<StringRef>();
  SmallVector<AxisId> rows;
  for (const ShardingNode &node : graph.getNodes())
    if (node.kind == ShardingNode::Kind::Input && !node.axes.empty()) rows.push_back(node.axes.front().id);
  llvm::append_range(taken, pinned.names);
  for (unsigned i = 0; i < solution.mesh.size(); ++i) {
    if (!pinned.names[i].empty()) {
      names.push_back(pinned.names[i]);
      continue;
    }
    int ofRows = 0, ofOthers = 0;
    for (const auto &[node, form] : llvm::zip(graph.getNodes(), solution.forms))
      if (AxisId axis = form.along[i]; node.kind == ShardingNode::Kind::Ops && axis != wholeForm && axis != pendingForm)
        ++(llvm::is_contained(rows, axis) ? ofRows : ofOthers);
    std::string base = ofRows > ofOthers ? "data" : "tensor", name = base;
    for (unsigned number = 2; llvm::is_contained(taken, name); ++number) name = base + std::to_string(number);
    names.push_back(StringAttr::get(module.getContext(), name).getValue());
    taken.push_back(names.back());
  }
  return names;
}

namespace {
/// The mesh, and the naming of its axes, on which a function takes the least time.
struct BestMesh {
  std::optional<MeshSolution> solution; ///< none: there is none within the limits
  PinnedMesh pins;
  double bound = INFINITY; ///< of all meshes
};
} // namespace

static BestMesh searchMeshes(const ShardingGraph &graph, int64_t count, const SearchDevices &devices, double bytes,
                             const ShardingPins &pins) {
  BestMesh best;
  SearchLimits limits;
  limits.bytes = bytes;
  std::string problem; // of namings that do not suit
  for (ArrayRef<int64_t> mesh : distinctMeshes(count, devices, pins)) {
    for (PinnedMesh &naming : pins.namingsOf(mesh, problem)) {
      limits.seconds = best.solution ? best.solution->cost.seconds : INFINITY;
      limits.pins = pins.areGiven() ? &naming : nullptr;
      MeshSolution found = solveMesh(graph, mesh, devices, limits);
      LLVM_DEBUG({
        llvm::dbgs() << "mesh";
        for (auto [ranks, name] : llvm::zip(mesh, naming.names)) llvm::dbgs() << ' ' << name << ' ' << ranks;
        llvm::dbgs() << ": " << found.cost.seconds << " s, bound " << found.bound << ", " << found.cost.bytes
                     << " bytes, nodes " << found.effort.nodes << ", passes " << found.effort.passes << '\n';
      });
      best.bound = std::min(best.bound, found.bound);
      if (found.isFound()) best.solution = std::move(found), best.pins = std::move(naming);
    }
  }
  return best;
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

std::optional<ModuleSharding> tessera::findSharding(ModuleOp module, int64_t count, const SearchDevices &devices,
                                                    double bytes, bool isPinned) {
  func::FuncOp deciding = decidingFunction(module);
  if (!deciding) return std::nullopt;
  ShardingGraph graph(deciding);
  ShardingPins pins(module, isPinned ? ShardSettings::of(module) : ShardSettings());
  BestMesh best = searchMeshes(graph, count, devices, bytes, pins);
  if (!best.solution) return std::nullopt;
  ModuleSharding result;
  SmallVector<StringRef> meshNames = nameMesh(graph, *best.solution, best.pins, module);
  for (auto [name, ranks] : llvm::zip(meshNames, best.solution->mesh))
    result.mesh.push_back(tessera::axis(module.getContext(), name, ranks));
  FoundSharding ofStep(graph, best.solution->forms, meshNames);
  result.ofStates = best.pins.ofStates; // those that the step lacks are as the user says
  for (const auto &[path, sharding] : ofStep.getStates()) result.ofStates[path] = sharding;
  result.tables.emplace_back(deciding, ofStep.getTable());
  result.isPinned = pins.areGiven(), result.pins = best.pins;
  result.step = *best.solution, result.bound = std::min(best.bound, best.solution->cost.seconds);
  for (func::FuncOp function : entryFunctions(module)) {
    if (function == deciding) continue;
    ShardingGraph other(function);
    SearchLimits limits;
    limits.fixed = formsOfStates(other, result.ofStates, meshNames);
    limits.pins = pins.areGiven() ? &best.pins : nullptr;
    MeshSolution found = solveMesh(other, best.solution->mesh, devices, limits);
    if (!found.isFound()) return std::nullopt;
    result.tables.emplace_back(function, FoundSharding(other, found.forms, meshNames).getTable());
  }
  return result;
}
