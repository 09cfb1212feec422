//===- ShardingSearch.cpp - which sharding takes the least time -----------===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/StateShardings.h"
#include "passes/sharding/search/LabelFrontier.h"
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

/// A mesh's label problem, without the forms that the limits exclude.
static LabelProblem problemWithin(const ShardingGraph &graph, ShardingCosts &costs, const SearchLimits &limits,
                                  const MomentWeights &weights) {
  LabelProblem problem = costs.problem(weights);
  for (const auto &[node, form] : limits.fixed)
    for (auto [label, candidate] : llvm::enumerate(costs.labelsOf(node)))
      if (!(candidate == form)) problem.addCost(node, label, {INFINITY, 0});
  return problem;
}

static ShardingCosts costsWithin(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                                 const SearchLimits &limits, RecomputationWay recomputation) {
  ShardingCosts costs(graph, mesh, devices, recomputation);
  if (limits.pins)
    for (unsigned node = 0; node < graph.getNodes().size(); ++node)
      if (!limits.fixed.contains(node)) costs.restrict(node, limits.pins->allowed(graph, node, costs.labelsOf(node)));
  return costs;
}

static std::vector<Form> formsOf(const ShardingCosts &costs, const Labelling &labels) {
  std::vector<Form> forms;
  for (auto [node, label] : llvm::enumerate(labels)) forms.push_back(costs.labelsOf(node)[label]);
  return forms;
}

namespace {
/// The best forms on a mesh whose bytes are within the limit at each moment. One weighted sum of bytes stands for all
/// moments: at first that of the moment at which the fastest forms have most. What is found within the limit of that
/// may have more at another moment, which then gets a share of the weights. Each of these problems allows all that is
/// within the limit at each moment, so each bound holds.
class LimitedSearch {
public:
  LimitedSearch(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                const SearchLimits &limits, const SolverOptions &options)
      : graph(graph), mesh(mesh), devices(devices), limits(limits), options(options) {}

  /// Improves what is known of the mesh. Returns a bound: no forms within the limits take fewer seconds.
  double run(RecomputationWay recomputation, unsigned peakMoment, MeshSolution &result);

private:
  void begin(RecomputationWay recomputation, unsigned peakMoment);
  BudgetAnswer solveWeighted(double bytes);
  ShardingCosts::Peak keep(const Labelling &labels, double seconds);
  void lowerPeak(double secondsOfFastest);
  double mostSeconds() const { return solution->isFound() ? solution->cost.seconds : limits.seconds; }

  const ShardingGraph &graph;
  ArrayRef<int64_t> mesh;
  const SearchDevices &devices;
  const SearchLimits &limits;
  const SolverOptions &options;
  RecomputationWay recomputation = RecomputationWay::None;
  std::optional<ShardingCosts> costs;
  std::optional<MomentWeights> weights;
  MeshSolution *solution = nullptr;
  double bound = 0, secondsPerByte = 0; ///< of this kind of recomputation
  std::optional<MomentWeights> priced;  ///< the weights of these
  Labelling smallest;                   ///< the labels with the fewest weighted bytes
};
} // namespace

/// Of the nodes of a search within a limit of bytes together.
static constexpr unsigned mostBudgetVariables = 512;
/// How often a moment gets weight.
static constexpr int mostWeightings = 6;
/// The weights become the mean of all moments that got one.
static double shareOfPeak(int weighting) { return 1.0 / (weighting + 2); }

/// With at most so many weighted bytes.
BudgetAnswer LimitedSearch::solveWeighted(double bytes) {
  LabelProblem problem = problemWithin(graph, *costs, limits, *weights);
  FrontierOptions frontierOptions;
  frontierOptions.solver = options;
  frontierOptions.budgetNodes = 0; // there is one budget
  frontierOptions.most = mostSeconds(), frontierOptions.mostBytes = bytes;
  frontierOptions.ownNodes = 1 + mostBudgetVariables / problem.size();
  LabelFrontier frontier(problem, frontierOptions);
  BudgetAnswer answer = frontier.findWithin(bytes);
  solution->effort += frontier.getEffort();
  bool isBound = bytes >= limits.bytes;
  if (isBound && (answer.bound > bound || !priced))
    bound = answer.bound, secondsPerByte = answer.secondsPerByte, priced = weights;
  if (frontier.getSmallest().found) smallest = frontier.getSmallest().labels;
  return answer;
}

/// Takes labels that are within the limits and better than those known.
ShardingCosts::Peak LimitedSearch::keep(const Labelling &labels, double seconds) {
  ShardingCosts::Peak peak = costs->peakOf(labels);
  LabelCost cost{seconds, peak.bytes};
  if (solution->leastForms.empty() || peak.bytes < solution->leastCost.bytes)
    solution->leastForms = formsOf(*costs, labels), solution->leastCost = cost;
  if (peak.bytes <= limits.bytes && seconds < mostSeconds())
    solution->forms = formsOf(*costs, labels), solution->cost = cost, solution->recomputation = recomputation;
  return peak;
}

/// Seconds count so little that they decide only between what has nearly as many bytes.
void LimitedSearch::lowerPeak(double secondsOfFastest) {
  constexpr double bytesOfAllSeconds = 0.05;
  constexpr int mostLowerings = 12;
  for (int weighting = 0; !smallest.empty(); ++weighting) {
    LabelProblem problem = problemWithin(graph, *costs, limits, *weights);
    ShardingCosts::Peak peak = keep(smallest, problem.cost(smallest).seconds);
    if (weighting == mostLowerings) break;
    weights->give(peak.moment, shareOfPeak(weighting));
    LabelWeights bytes{bytesOfAllSeconds * solution->leastCost.bytes / secondsOfFastest, 1};
    LabelSolution least = solve(problemWithin(graph, *costs, limits, *weights), bytes, options);
    solution->effort += least.effort;
    smallest = least.labels;
  }
}

void LimitedSearch::begin(RecomputationWay way, unsigned peakMoment) {
  recomputation = way;
  costs.emplace(costsWithin(graph, mesh, devices, limits, recomputation));
  weights.emplace(graph.countMoments()), weights->give(peakMoment, 1);
  bound = secondsPerByte = 0, priced = std::nullopt, smallest.clear();
}

double LimitedSearch::run(RecomputationWay way, unsigned peakMoment, MeshSolution &result) {
  constexpr double mostLess = 0.95, closeEnough = 1.01;
  solution = &result;
  begin(way, peakMoment);
  // Peaks that no weights bring within the limit together take a lower one, between `within` and `above`.
  double bytes = limits.bytes, within = 0, above = limits.bytes;
  for (int weighting = 0; weighting < mostWeightings && closeEnough * bound < mostSeconds(); ++weighting) {
    BudgetAnswer answer = solveWeighted(bytes);
    if (!answer.found) break;
    ShardingCosts::Peak peak = keep(answer.labels, answer.cost.seconds);
    bool isWithin = peak.bytes <= limits.bytes;
    if (isWithin && bytes == limits.bytes) break;
    (isWithin ? within : above) = bytes;
    if (within > 0)
      bytes = (within + above) / 2;
    else if (weighting > 0)
      bytes *= std::max(mostLess, limits.bytes / peak.bytes);
    if (!isWithin) weights->give(peak.moment, shareOfPeak(weighting));
  }
  bool hasFewest = way == RecomputationWay::None || way == RecomputationWay::Both;
  if (hasFewest && !result.isFound() && limits.seconds == INFINITY) lowerPeak(result.secondsBeyond);
  if (result.recomputation == recomputation || !result.weights)
    result.secondsPerByte = secondsPerByte, result.weights = priced;
  return bound;
}

/// Where bytes are to fall to less than one in so many, single values are not tried besides segments.
static constexpr double mostSavedByValues = 3;

MeshSolution tessera::solveMesh(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                                const SearchLimits &limits) {
  ShardingCosts costs = costsWithin(graph, mesh, devices, limits, RecomputationWay::None);
  LabelProblem problem = problemWithin(graph, costs, limits, MomentWeights(graph.countMoments()));
  MeshSolution result;
  result.mesh = Mesh(mesh);
  SolverOptions options;
  options.tolerance = searchTolerance;
  SolverStart start;
  start.most = limits.seconds;
  LabelSolution fastest = solve(problem, {1, 0}, options, start);
  result.bound = fastest.bound, result.effort = fastest.effort;
  if (!fastest.found || fastest.bound >= limits.seconds) return result;
  ShardingCosts::Peak peak = costs.peakOf(fastest.labels);
  if (peak.bytes <= limits.bytes) {
    if (fastest.value < limits.seconds)
      result.forms = formsOf(costs, fastest.labels), result.cost = {fastest.cost.seconds, peak.bytes};
    return result;
  }
  result.secondsBeyond = fastest.cost.seconds;
  SmallVector<RecomputationWay, 3> ways{RecomputationWay::None};
  if (limits.recomputes) ways = {RecomputationWay::Segments, RecomputationWay::Both, RecomputationWay::Values};
  LimitedSearch search(graph, mesh, devices, limits, options);
  double bound = INFINITY;
  for (RecomputationWay way : ways) {
    // It has many labels, and would do no better than the other way.
    bool savesMuch = peak.bytes > mostSavedByValues * limits.bytes;
    if (way == RecomputationWay::Values && savesMuch) {
      bound = 0;
      break;
    }
    bound = std::min(bound, search.run(way, peak.moment, result));
  }
  result.bound = std::max(result.bound, bound);
  return result;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

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

/// Of two namings the one with fewer seconds counts.
static void note(SearchedMesh &mesh, const MeshSolution &found) {
  constexpr double sameSeconds = 2 * searchTolerance;
  if (found.bound >= mesh.seconds) return;
  mesh.seconds = found.bound;
  mesh.isExact = found.isFound() && found.cost.seconds <= (1 + sameSeconds) * found.bound;
}

/// `least`: what is known to take the fewest bytes, if nothing is within the limits; then with its naming.
static StepSearch searchMeshes(const ShardingGraph &graph, ArrayRef<Mesh> meshes, const SearchDevices &devices,
                               SearchLimits limits, const ShardingPins &pins, StepSearch &least) {
  StepSearch best;
  std::string problem; // of namings that do not suit
  for (ArrayRef<int64_t> mesh : meshes) {
    SearchedMesh &searched = best.searched.emplace_back(SearchedMesh{Mesh(mesh), INFINITY});
    for (PinnedMesh &naming : pins.namingsOf(mesh, problem)) {
      limits.seconds = best.solution ? (1 - searchTolerance) * best.solution->cost.seconds : INFINITY;
      limits.pins = pins.areGiven() ? &naming : nullptr;
      MeshSolution found = solveMesh(graph, mesh, devices, limits);
      LLVM_DEBUG({
        llvm::dbgs() << "mesh";
        for (auto [ranks, name] : llvm::zip(mesh, naming.names)) llvm::dbgs() << ' ' << name << ' ' << ranks;
        llvm::dbgs() << ": " << found.cost.seconds << " s, bound " << found.bound << ", " << found.cost.bytes
                     << " bytes, least " << found.leastCost.bytes << ", nodes " << found.effort.nodes << ", passes "
                     << found.effort.passes << '\n';
      });
      note(searched, found);
      best.bound = std::min(best.bound, found.bound);
      best.secondsBeyond = std::min(best.secondsBeyond, found.secondsBeyond);
      bool isLeast =
          !found.leastForms.empty() && (!least.solution || found.leastCost.bytes < least.solution->leastCost.bytes);
      if (isLeast && !found.isFound()) least.solution = found, least.pins = naming;
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

/// The fewest bytes alone would be had for any number of seconds.
static constexpr double moreThanLeastBytes = 1.02;

static StepSearch searchStep(const ShardingGraph &graph, int64_t count, const SearchDevices &devices,
                             const SearchOptions &options, const ShardingPins &pins) {
  std::vector<Mesh> meshes = distinctMeshes(count, devices, pins);
  SearchLimits limits;
  limits.bytes = options.bytes, limits.recomputes = options.recomputes;
  StepSearch least, best = searchMeshes(graph, meshes, devices, limits, pins, least);
  best.bytes = limits.bytes;
  if (best.solution || !least.solution) return best;
  limits.bytes = moreThanLeastBytes * least.solution->leastCost.bytes;
  best = searchMeshes(graph, meshes, devices, limits, pins, least);
  best.bytes = limits.bytes, best.isWithin = false;
  if (best.solution) return best;
  best.solution = least.solution, best.pins = least.pins;
  best.solution->forms = std::move(best.solution->leastForms), best.solution->cost = best.solution->leastCost;
  return best;
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
  if (!best.solution) return std::nullopt;
  SmallVector<StringRef> meshNames = nameMesh(graph, *best.solution, best.pins, module);
  for (auto [name, ranks] : llvm::zip(meshNames, best.solution->mesh))
    result.mesh.push_back(tessera::axis(module.getContext(), name, ranks));
  FoundSharding ofStep(graph, best.solution->forms, meshNames);
  result.ofStates = best.pins.ofStates; // those that the step lacks are as the user says
  for (const auto &[path, sharding] : ofStep.getStates()) result.ofStates[path] = sharding;
  result.tables.emplace_back(deciding, ofStep.getTable());
  result.meshes = best.searched, result.bytes = best.bytes;
  result.isPinned = pins.areGiven(), result.pins = best.pins;
  result.step = *best.solution, result.bound = std::min(best.bound, best.solution->cost.seconds);
  result.memoryDecides = best.secondsBeyond < best.solution->cost.seconds;
  if (!divideOtherFunctions(module, result, devices)) return std::nullopt;
  return result;
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
    MeshSolution found = solveMesh(graph, mesh, devices, limits);
    if (!found.isFound() && sharding.isPinned) return false;
    // All of it may be whole, and its states are divided as they may be everywhere.
    if (!found.isFound()) llvm::reportFatalInternalError("no sharding of `" + function.getName() + "` was found");
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
