//===- ShardingSearch.cpp - which sharding takes the least time -----------===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "tsr-sharding-search"

using namespace mlir;
using namespace tessera;

std::vector<SmallVector<int64_t, mostMeshAxes>> tessera::meshesOf(int64_t devices, unsigned mostAxes) {
  std::vector<SmallVector<int64_t, mostMeshAxes>> meshes;
  if (devices == 1) return {{}};
  if (mostAxes == 0) return {};
  for (int64_t first = devices; first > 1; --first) {
    if (devices % first != 0) continue;
    for (SmallVector<int64_t, mostMeshAxes> &rest : meshesOf(devices / first, mostAxes - 1)) {
      rest.insert(rest.begin(), first);
      meshes.push_back(std::move(rest));
    }
  }
  return meshes;
}

std::optional<MeshSolution> tessera::solveMesh(const ShardingGraph &graph, ArrayRef<int64_t> mesh,
                                               const SearchDevices &devices, double most,
                                               const DenseMap<unsigned, Form> &fixed) {
  ShardingCosts costs(graph, mesh, devices);
  LabelProblem problem = costs.problem();
  for (unsigned node = 0; node < graph.getNodes().size(); ++node) {
    auto form = fixed.find(node);
    if (form == fixed.end()) continue;
    for (auto [label, candidate] : llvm::enumerate(costs.labelsOf(node)))
      if (!(candidate == form->second)) problem.addCost(node, label, {INFINITY, 0});
  }
  SolverOptions options;
  options.tolerance = 1e-3;
  SolverStart start;
  start.most = most;
  LabelSolution solution = solve(problem, {1, 0}, options, start);
  if (!solution.found || solution.value >= most) return std::nullopt;
  MeshSolution found{SmallVector<int64_t, mostMeshAxes>(mesh), {}, solution.cost, solution.bound, solution.effort};
  for (auto [node, label] : llvm::enumerate(solution.labels)) found.forms.push_back(costs.labelsOf(node)[label]);
  return found;
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

/// Names that say what a mesh axis is for: `data` divides rows of data, `tensor` other axes.
static SmallVector<StringRef> nameMesh(const ShardingGraph &graph, const MeshSolution &solution, ModuleOp module) {
  SmallVector<StringRef> names;
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  SmallVector<StringRef> taken = declared ? tessera::names(declared) : SmallVector<StringRef>();
  for (unsigned i = 0; i < solution.mesh.size(); ++i) {
    bool dividesInputs = llvm::any_of(llvm::zip(graph.getNodes(), solution.forms), [&](const auto &entry) {
      const auto &[node, form] = entry;
      return node.kind == ShardingNode::Kind::Input && form.along[i] != wholeForm;
    });
    std::string base = dividesInputs ? "data" : "tensor", name = base;
    for (unsigned number = 2; llvm::is_contained(taken, name); ++number) name = base + std::to_string(number);
    names.push_back(StringAttr::get(module.getContext(), name).getValue());
    taken.push_back(names.back());
  }
  return names;
}

std::optional<ModuleSharding> tessera::findSharding(ModuleOp module, int64_t count, const SearchDevices &devices) {
  func::FuncOp deciding = decidingFunction(module);
  if (!deciding) return std::nullopt;
  ShardingGraph graph(deciding);
  std::optional<MeshSolution> best;
  for (ArrayRef<int64_t> mesh : meshesOf(count, 3)) {
    std::optional<MeshSolution> found = solveMesh(graph, mesh, devices, best ? best->cost.seconds : INFINITY);
    LLVM_DEBUG({
      llvm::dbgs() << "mesh";
      for (int64_t ranks : mesh) llvm::dbgs() << ' ' << ranks;
      if (found)
        llvm::dbgs() << ": " << found->cost.seconds << " s, bound " << found->bound << ", " << found->cost.bytes
                     << " bytes, nodes " << found->effort.nodes << ", passes " << found->effort.passes << '\n';
    });
    if (found) best = std::move(found);
  }
  if (!best) return std::nullopt;
  ModuleSharding result;
  SmallVector<StringRef> meshNames = nameMesh(graph, *best, module);
  for (auto [name, ranks] : llvm::zip(meshNames, best->mesh))
    result.mesh.push_back(tessera::axis(module.getContext(), name, ranks));
  FoundSharding ofStep(graph, best->forms, meshNames);
  result.ofStates = ofStep.getStates();
  result.tables.emplace_back(deciding, ofStep.getTable());
  result.step = *best;
  llvm::StringMap<Form> formOfState;
  for (auto [node, form] : llvm::zip(graph.getNodes(), best->forms))
    for (Operation *op : node.ops)
      if (auto state = dyn_cast<StateOp>(op)) formOfState[state.getPath()] = form;
  for (func::FuncOp function : entryFunctions(module)) {
    if (function == deciding) continue;
    ShardingGraph other(function);
    DenseMap<unsigned, Form> fixed;
    for (auto [i, node] : llvm::enumerate(other.getNodes()))
      for (Operation *op : node.ops)
        if (auto state = dyn_cast<StateOp>(op)) {
          Form form;
          for (auto [along, axis] : llvm::enumerate(formOfState.lookup(state.getPath()).along))
            form.along[along] = axis == wholeForm ? wholeForm : other.axisNumber(graph.axisName(axis));
          fixed[i] = form;
        }
    std::optional<MeshSolution> found = solveMesh(other, best->mesh, devices, INFINITY, fixed);
    if (!found) return std::nullopt;
    result.tables.emplace_back(function, FoundSharding(other, found->forms, meshNames).getTable());
  }
  return result;
}
