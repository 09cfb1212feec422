//===- ShardingSearch.cpp - which sharding takes the least time -----------===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/LabelFrontier.h"
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

/// Of meshes whose axes are the same in another order, the first.
static std::vector<Mesh> distinctMeshes(int64_t count, const SearchDevices &devices) {
  std::vector<Mesh> meshes;
  std::vector<RankLinks> links;
  for (Mesh &mesh : meshesOf(count, mostSearchedAxes)) {
    RankLinks ofMesh(devices.target, mesh, devices.machines);
    if (llvm::any_of(links, [&](const RankLinks &known) { return known.isReorderingOf(ofMesh); })) continue;
    links.push_back(std::move(ofMesh));
    meshes.push_back(std::move(mesh));
  }
  return meshes;
}

/// Searches stop this close to the least time: predictions are less exact.
static constexpr double searchTolerance = 1e-3;

/// A mesh's label problem, without the forms that the limits exclude.
static LabelProblem problemWithin(ShardingCosts &costs, const SearchLimits &limits) {
  LabelProblem problem = costs.problem();
  for (const auto &[node, form] : limits.fixed)
    for (auto [label, candidate] : llvm::enumerate(costs.labelsOf(node)))
      if (!(candidate == form)) problem.addCost(node, label, {INFINITY, 0});
  return problem;
}

static void take(MeshSolution &result, const ShardingCosts &costs, const Labelling &labels, const LabelCost &cost) {
  result.cost = cost;
  for (auto [node, label] : llvm::enumerate(labels)) result.forms.push_back(costs.labelsOf(node)[label]);
}

/// The best forms within the limit of bytes.
static void solveWithinBytes(MeshSolution &result, ShardingCosts &costs, const SearchLimits &limits,
                             const SolverOptions &options) {
  LabelProblem problem = problemWithin(costs, limits);
  FrontierOptions frontierOptions;
  frontierOptions.solver = options;
  LabelFrontier frontier(problem, frontierOptions);
  BudgetAnswer answer = frontier.findWithin(limits.bytes);
  result.bound = std::max(result.bound, answer.bound), result.effort += frontier.getEffort();
  result.leastBytes = answer.leastBytes;
  if (answer.found && answer.cost.seconds < limits.seconds) take(result, costs, answer.labels, answer.cost);
}

MeshSolution tessera::solveMesh(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                                const SearchLimits &limits) {
  ShardingCosts costs(graph, mesh, devices);
  LabelProblem problem = problemWithin(costs, limits);
  MeshSolution result;
  result.mesh = Mesh(mesh);
  SolverOptions options;
  options.tolerance = searchTolerance;
  SolverStart start;
  start.most = limits.seconds;
  LabelSolution fastest = solve(problem, {1, 0}, options, start);
  result.bound = fastest.bound, result.effort = fastest.effort;
  if (!fastest.found || fastest.bound >= limits.seconds) return result;
  if (fastest.cost.bytes <= limits.bytes) {
    if (fastest.value < limits.seconds) take(result, costs, fastest.labels, fastest.cost);
    return result;
  }
  result.secondsBeyond = fastest.cost.seconds;
  if (limits.recomputes) {
    ShardingCosts again(graph, mesh, devices, /*recomputes=*/true);
    solveWithinBytes(result, again, limits, options);
  } else {
    solveWithinBytes(result, costs, limits, options);
  }
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

/// The axes that rows of data are stacked along. Where no data is described, the first ones of inputs.
static SmallVector<AxisId> rowAxes(const ShardingGraph &graph, ModuleOp module) {
  SmallVector<AxisId> rows;
  for (StringRef axis : batchAxes(module)) rows.push_back(graph.axisNumber(axis));
  if (!rows.empty()) return rows;
  for (const ShardingNode &node : graph.getNodes())
    if (node.kind == ShardingNode::Kind::Input && !node.axes.empty()) rows.push_back(node.axes.front().id);
  return rows;
}

/// Names that say what a mesh axis is for: along `data` most of what is divided is divided by rows of data, along
/// `tensor` by other axes, and along `replica` nothing is divided.
static SmallVector<StringRef> nameMesh(const ShardingGraph &graph, const MeshSolution &solution, ModuleOp module) {
  SmallVector<StringRef> names;
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  SmallVector<StringRef> taken = declared ? tessera::names(declared) : SmallVector<StringRef>();
  SmallVector<AxisId> rows = rowAxes(graph, module);
  for (unsigned i = 0; i < solution.mesh.size(); ++i) {
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
/// Of all meshes.
struct BestMesh {
  std::optional<MeshSolution> solution;
  double bound = INFINITY, leastBytes = INFINITY, secondsBeyond = INFINITY;
};
} // namespace

static BestMesh bestMesh(const ShardingGraph &graph, ArrayRef<Mesh> meshes, const SearchDevices &devices,
                         SearchLimits limits) {
  BestMesh best;
  for (ArrayRef<int64_t> mesh : meshes) {
    if (best.solution) limits.seconds = best.solution->cost.seconds;
    MeshSolution found = solveMesh(graph, mesh, devices, limits);
    LLVM_DEBUG({
      llvm::dbgs() << "mesh";
      for (int64_t ranks : mesh) llvm::dbgs() << ' ' << ranks;
      llvm::dbgs() << ": " << found.cost.seconds << " s, bound " << found.bound << ", " << found.cost.bytes
                   << " bytes, least " << found.leastBytes << ", nodes " << found.effort.nodes << ", passes "
                   << found.effort.passes << '\n';
    });
    best.bound = std::min(best.bound, found.bound);
    best.secondsBeyond = std::min(best.secondsBeyond, found.secondsBeyond);
    if (found.isFound())
      best.solution = std::move(found);
    else if (found.leastBytes > limits.bytes)
      best.leastBytes = std::min(best.leastBytes, found.leastBytes);
  }
  return best;
}

/// The fewest bytes alone would be had for any number of seconds.
static constexpr double moreThanLeastBytes = 1.02;

std::optional<ModuleSharding> tessera::findSharding(ModuleOp module, int64_t count, const SearchDevices &devices,
                                                    double bytes, bool recomputes) {
  func::FuncOp deciding = decidingFunction(module);
  if (!deciding) return std::nullopt;
  TiledContractions tiled = contractionsTiledLater(module);
  ShardingGraph graph(deciding, tiled);
  std::vector<Mesh> meshes = distinctMeshes(count, devices);
  SearchLimits limits;
  limits.bytes = bytes, limits.recomputes = recomputes;
  BestMesh found = bestMesh(graph, meshes, devices, limits);
  bool isWithin = found.solution.has_value();
  if (!isWithin && found.leastBytes < INFINITY) {
    limits.bytes = moreThanLeastBytes * found.leastBytes;
    found = bestMesh(graph, meshes, devices, limits);
  }
  std::optional<MeshSolution> &best = found.solution;
  double bound = found.bound;
  if (!best) return std::nullopt;
  ModuleSharding result;
  SmallVector<StringRef> meshNames = nameMesh(graph, *best, module);
  for (auto [name, ranks] : llvm::zip(meshNames, best->mesh))
    result.mesh.push_back(tessera::axis(module.getContext(), name, ranks));
  FoundSharding ofStep(graph, best->forms, meshNames);
  result.ofStates = ofStep.getStates();
  result.tables.emplace_back(deciding, ofStep.getTable());
  result.step = *best, result.bound = std::min(bound, best->cost.seconds);
  result.isWithin = isWithin, result.memoryDecides = found.secondsBeyond < best->cost.seconds;
  llvm::StringMap<Form> formOfState;
  for (auto [node, form] : llvm::zip(graph.getNodes(), best->forms))
    for (Operation *op : node.ops)
      if (auto state = dyn_cast<StateOp>(op)) formOfState[state.getPath()] = form;
  for (func::FuncOp function : entryFunctions(module)) {
    if (function == deciding) continue;
    ShardingGraph other(function, tiled);
    SearchLimits fixed;
    for (auto [i, node] : llvm::enumerate(other.getNodes()))
      for (Operation *op : node.ops)
        if (auto state = dyn_cast<StateOp>(op)) {
          Form form;
          for (auto [along, axis] : llvm::enumerate(formOfState.lookup(state.getPath()).along))
            form.along[along] = axis == wholeForm ? wholeForm : other.axisNumber(graph.axisName(axis));
          fixed.fixed[i] = form;
        }
    MeshSolution found = solveMesh(other, best->mesh, devices, fixed);
    // All of it may be whole, and its states are divided as they may be everywhere.
    if (!found.isFound()) llvm::reportFatalInternalError("no sharding of `" + function.getName() + "` was found");
    result.tables.emplace_back(function, FoundSharding(other, found.forms, meshNames).getTable());
  }
  return result;
}
