//===- MeshSearch.cpp - which sharding takes the least time on a mesh -----===//

#include "passes/sharding/search/MeshSearch.h"
#include "passes/sharding/search/LabelBudget.h"

using namespace mlir;
using namespace tessera;

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
/// Looks for the shares of exchanges beside kernels with which the least time is bounded best. A repeat with more time
/// of exchanges than of kernels gets a larger share, another one a smaller one.
class ShareSearch {
public:
  /// After a labelling that is the best one with `shares`. False if they change no more.
  bool change(BesideShares &shares, const ShardingCosts::Times &times) {
    constexpr double leastChange = 1.0 / 32;
    constexpr double unknown = -1;
    low.resize(shares.size(), unknown), high.resize(shares.size(), 1.0);
    bool changes = false;
    for (auto [i, repeat] : llvm::enumerate(times.repeats)) {
      double before = shares[i];
      bool waits = repeat.beside > repeat.kernels;
      (waits ? low : high)[i] = before;
      // Mostly all of these exchanges are hidden.
      shares[i] = low[i] == unknown ? 0 : (low[i] + high[i]) / 2;
      changes |= std::abs(shares[i] - before) > leastChange;
    }
    return changes;
  }

private:
  BesideShares low, high;
};

/// The best forms on a mesh whose bytes are within the limit at each moment. One weighted sum of bytes stands for all
/// moments: at first that of the moment at which the fastest forms have most. What is found within the limit of that
/// may have more at another moment, which then gets a share of the weights. Each of these problems allows all that is
/// within the limit at each moment, so each bound holds.
class LimitedSearch {
public:
  LimitedSearch(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                const SearchLimits &limits, const SolverOptions &options)
      : graph(graph), mesh(mesh), devices(devices), limits(limits), options(options) {}

  /// Improves what is known of the mesh. Returns a bound: no forms within the limits take fewer seconds. `shares` are
  /// the first that are tried.
  double run(RecomputationWay recomputation, unsigned peakMoment, const BesideShares &shares, MeshSolution &result);

private:
  void begin(RecomputationWay recomputation, unsigned peakMoment, const BesideShares &shares);
  BudgetAnswer solveWeighted(double bytes);
  ShardingCosts::Peak keep(const Labelling &labels, double seconds);
  bool changeShares(const Labelling &labels);
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
  ShareSearch shareSearch;
  MeshSolution *solution = nullptr;
  double bound = 0, secondsPerByte = 0; ///< of this kind of recomputation
  std::optional<MomentWeights> priced;  ///< the weights of these
  BesideShares pricedShares;            ///< likewise
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
  BudgetAnswer answer =
      solveWithBudget(problem, bytes, {options, 1 + mostBudgetVariables / problem.size(), mostSeconds()});
  solution->effort += answer.effort;
  bool isBound = bytes >= limits.bytes;
  if (isBound && (answer.bound > bound || !priced)) {
    bound = answer.bound, secondsPerByte = answer.secondsPerByte, priced = weights;
    pricedShares = costs->getShares();
  }
  if (answer.smallest.found) smallest = answer.smallest.labels;
  return answer;
}

/// Takes labels that are within the limits and better than those known.
ShardingCosts::Peak LimitedSearch::keep(const Labelling &labels, double seconds) {
  ShardingCosts::Peak peak = costs->peakOf(labels);
  if (costs->haveBeside()) seconds = costs->timesOf(labels).seconds;
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
  if (smallest.empty()) return;
  double seconds = problemWithin(graph, *costs, limits, *weights).cost(smallest).seconds;
  for (int weighting = 0;; ++weighting) {
    ShardingCosts::Peak peak = keep(smallest, seconds);
    if (weighting == mostLowerings) return;
    weights->give(peak.moment, shareOfPeak(weighting));
    LabelWeights bytes{bytesOfAllSeconds * solution->leastCost.bytes / secondsOfFastest, 1};
    LabelSolution least = solve(problemWithin(graph, *costs, limits, *weights), bytes, options);
    solution->effort += least.effort;
    if (!least.found) return;
    smallest = least.labels, seconds = least.cost.seconds;
  }
}

void LimitedSearch::begin(RecomputationWay way, unsigned peakMoment, const BesideShares &shares) {
  recomputation = way;
  costs.emplace(costsWithin(graph, mesh, devices, limits, recomputation));
  costs->setShares(shares), shareSearch = ShareSearch();
  weights.emplace(graph.countMoments()), weights->give(peakMoment, 1);
  bound = secondsPerByte = 0, priced = std::nullopt, smallest.clear();
}

/// For the next problem, if this one's best labels leave something to be gained.
bool LimitedSearch::changeShares(const Labelling &labels) {
  if (!costs->haveBeside()) return false;
  ShardingCosts::Times times = costs->timesOf(labels);
  BesideShares shares = costs->getShares();
  if (times.seconds <= (1 + searchTolerance) * bound || !shareSearch.change(shares, times)) return false;
  costs->setShares(shares);
  return true;
}

double LimitedSearch::run(RecomputationWay way, unsigned peakMoment, const BesideShares &shares, MeshSolution &result) {
  constexpr double mostLess = 0.95, leastLess = 0.99, closeEnough = 1.01;
  solution = &result;
  begin(way, peakMoment, shares);
  // Peaks that no weights bring within the limit together take a lower one, between `within` and `above`.
  double bytes = limits.bytes, within = 0, above = limits.bytes;
  for (int weighting = 0; weighting < mostWeightings && closeEnough * bound < mostSeconds(); ++weighting) {
    BudgetAnswer answer = solveWeighted(bytes);
    if (!answer.found) break;
    ShardingCosts::Peak peak = keep(answer.labels, answer.cost.seconds);
    bool isWithin = peak.bytes <= limits.bytes;
    bool changes = changeShares(answer.labels);
    if (isWithin && bytes == limits.bytes) {
      if (!changes) break;
      continue;
    }
    (isWithin ? within : above) = bytes;
    if (within > 0)
      bytes = (within + above) / 2;
    else if (weighting > 0)
      bytes *= std::clamp(limits.bytes / peak.bytes, mostLess, leastLess);
    if (!isWithin) weights->give(peak.moment, shareOfPeak(weighting));
  }
  bool hasFewest = way == RecomputationWay::None || way == RecomputationWay::Both;
  if (hasFewest && !result.isFound() && limits.seconds == INFINITY) lowerPeak(result.secondsBeyond);
  if (result.recomputation == recomputation || !result.weights)
    result.secondsPerByte = secondsPerByte, result.weights = priced, result.shares = pricedShares;
  return bound;
}

MeshSolution tessera::solveForTime(const ShardingGraph &graph, ArrayRef<int64_t> mesh, const SearchDevices &devices,
                                   const SearchLimits &limits) {
  constexpr int mostShares = 6;
  constexpr double leastGain = 2e-3, toleranceOfShares = 5e-3;
  ShardingCosts costs = costsWithin(graph, mesh, devices, limits, RecomputationWay::None);
  MeshSolution result;
  result.mesh = Mesh(mesh);
  if (costs.haveBeside() && !limits.shares.empty()) costs.setShares(limits.shares);
  SolverOptions options;
  options.tolerance = searchTolerance;
  if (costs.haveBeside()) options.tolerance = toleranceOfShares, options.mostNodes = 1; // more is lost by the shares
  SolverStart start;
  LabelMessages messages; // of the problem before
  ShareSearch shareSearch;
  Labelling fastest;
  double seconds = INFINITY;
  for (int tried = 1;; ++tried) {
    double secondsBefore = seconds, boundBefore = result.bound;
    LabelProblem problem = problemWithin(graph, costs, limits, MomentWeights(graph.countMoments()));
    start.most = std::min(limits.seconds, seconds);
    LabelSolution found = solve(problem, {1, 0}, options, start);
    messages = std::move(found.messages);
    if (!messages.empty()) start.messages = &messages;
    result.effort += found.effort;
    if (tried == 1 || found.bound > result.bound) result.bound = found.bound, result.shares = costs.getShares();
    if (!found.found) break;
    ShardingCosts::Times times;
    double ofFound = found.cost.seconds;
    if (costs.haveBeside()) times = costs.timesOf(found.labels), ofFound = times.seconds;
    if (ofFound < seconds) seconds = ofFound, fastest = std::move(found.labels);
    BesideShares shares = costs.getShares();
    bool isClose = seconds <= (1 + searchTolerance) * result.bound || result.bound >= limits.seconds;
    bool gained = seconds < (1 - leastGain) * secondsBefore || result.bound > (1 + leastGain) * boundBefore;
    if (isClose || (tried > 2 && !gained) || tried == mostShares || !shareSearch.change(shares, times)) break;
    costs.setShares(shares);
  }
  if (fastest.empty() || result.bound >= limits.seconds) return result;
  ShardingCosts::Peak peak = costs.peakOf(fastest);
  double mostBytes = costs.peakOf(fastest, /*withPlacesBeside=*/true).bytes;
  if (peak.bytes > limits.bytes)
    result.secondsBeyond = seconds, result.peakBeyond = peak;
  else if (seconds < limits.seconds)
    result.forms = formsOf(costs, fastest), result.cost = {seconds, std::min(mostBytes, limits.bytes)};
  return result;
}

/// Where bytes are to fall to less than one in so many, single values are not tried besides segments.
static constexpr double mostSavedByValues = 3;

void tessera::solveWithin(const ShardingGraph &graph, const SearchDevices &devices, const SearchLimits &limits,
                          MeshSolution &solution) {
  SolverOptions options;
  options.tolerance = searchTolerance;
  SmallVector<RecomputationWay, 3> ways{RecomputationWay::None};
  if (limits.recomputes) ways = {RecomputationWay::Segments, RecomputationWay::Both, RecomputationWay::Values};
  LimitedSearch search(graph, solution.mesh, devices, limits, options);
  BesideShares shares = solution.shares;
  double bound = INFINITY;
  for (RecomputationWay way : ways) {
    // These have many labels, and would have to run nearly everything again, as segments do.
    bool savesMuch = solution.peakBeyond.bytes > mostSavedByValues * limits.bytes;
    if (way == RecomputationWay::Values && savesMuch) {
      bound = 0;
      break;
    }
    bound = std::min(bound, search.run(way, solution.peakBeyond.moment, shares, solution));
  }
  solution.bound = std::max(solution.bound, bound);
}
