//===- LabelBudget.cpp - the fewest seconds within a budget of bytes ------===//

#include "passes/sharding/search/LabelBudget.h"
#include "passes/sharding/search/BudgetSearch.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace tessera;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Relative to the sums.
static constexpr double rounding = 1e-10;

namespace {
/// The bisection, and the answer up to now.
class Bisection {
public:
  Bisection(const LabelProblem &problem, double bytes, const BudgetOptions &options)
      : problem(problem), bytes(bytes), options(options) {
    answer.bound = -infinity;
  }
  BudgetAnswer run();

private:
  struct Solved {
    LabelWeights weights;
    LabelSolution solution;
    const LabelCost &cost() const { return solution.cost; }
  };

  Solved solveWith(LabelWeights weights, const Solved *left, const Solved *right, double most);
  bool isFlat(const Solved &left, const Solved &right, LabelWeights weights) const;
  void bisect(Solved left, Solved right);
  void search(const Solved &left, const Solved &right, const Solved *middle, double lambda);
  void take(const Solved &solved);
  void offer(const Labelling &labels, const LabelCost &cost);

  const LabelProblem &problem;
  double bytes;
  const BudgetOptions &options;
  BudgetAnswer answer;
};
} // namespace

/// `left` has fewer bytes. The combination is a · left + b · right, so that weights combine to these.
static LabelMessages combine(LabelWeights weights, LabelWeights left, LabelWeights right, const LabelMessages &ofLeft,
                             const LabelMessages &ofRight) {
  double determinant = left.seconds * right.bytes - left.bytes * right.seconds;
  double a = (weights.seconds * right.bytes - weights.bytes * right.seconds) / determinant;
  double b = (left.seconds * weights.bytes - left.bytes * weights.seconds) / determinant;
  LabelMessages messages;
  messages.reserve(ofLeft.size());
  for (auto [l, r] : llvm::zip_equal(ofLeft, ofRight)) messages.push_back(a * l + b * r);
  return messages;
}

Bisection::Solved Bisection::solveWith(LabelWeights weights, const Solved *left, const Solved *right, double most) {
  LabelMessages messages;
  std::vector<Labelling> known;
  for (const Solved *each : {left, right})
    if (each) known.push_back(each->solution.labels);
  if (left && right)
    messages = combine(weights, left->weights, right->weights, left->solution.messages, right->solution.messages);
  Solved solved{weights, solve(problem, weights, options.solver, {known, &messages, nullptr, most})};
  answer.effort += solved.solution.effort;
  return solved;
}

void Bisection::offer(const Labelling &labels, const LabelCost &cost) {
  if (cost.bytes > bytes) return;
  auto key = [](const LabelCost &of) { return std::tie(of.seconds, of.bytes); };
  if (answer.found && key(cost) >= key(answer.cost)) return;
  answer.found = true, answer.labels = labels, answer.cost = cost;
}

/// Its labelling, and the dual at its weights: no labelling within the budget has fewer seconds.
void Bisection::take(const Solved &solved) {
  const LabelWeights &weights = solved.weights;
  double bound = solved.solution.bound > bytes ? infinity : -infinity; // for bytes alone
  if (weights.seconds > 0) bound = (solved.solution.bound - weights.bytes * bytes) / weights.seconds;
  if (bound > answer.bound && weights.seconds > 0) answer.secondsPerByte = weights.bytes / weights.seconds;
  answer.bound = std::max(answer.bound, bound);
  if (solved.solution.found) offer(solved.solution.labels, solved.cost());
}

/// Whether no labelling between two can be below their line by much: it is above the lines that the two solves say, and
/// where these meet, it could be deepest.
bool Bisection::isFlat(const Solved &left, const Solved &right, LabelWeights weights) const {
  constexpr double depth = 1e-5;
  LabelWeights a = left.weights, b = right.weights;
  double atA = left.solution.bound, atB = right.solution.bound;
  double determinant = a.seconds * b.bytes - a.bytes * b.seconds;
  if (determinant == 0) return true;
  LabelCost corner = {(atA * b.bytes - atB * a.bytes) / determinant, (a.seconds * atB - b.seconds * atA) / determinant};
  double value = weights.of(left.cost());
  return value - weights.of(corner) <= depth * std::abs(value);
}

void Bisection::bisect(Solved left, Solved right) {
  while (answer.bound < options.most) {
    LabelCost few = left.cost(), fast = right.cost();
    if (few.bytes >= fast.bytes || few.seconds <= fast.seconds) return; // one has no more of either
    LabelWeights weights{1, (few.seconds - fast.seconds) / (fast.bytes - few.bytes)};
    if (isFlat(left, right, weights)) return search(left, right, nullptr, weights.bytes);
    Solved middle = solveWith(weights, &left, &right, infinity);
    take(middle);
    double value = weights.of(few);
    bool isBetween = middle.solution.value < value - rounding * std::abs(value);
    if (!isBetween) return search(left, right, &middle, weights.bytes);
    (middle.cost().bytes <= bytes ? left : right) = std::move(middle);
  }
}

/// Between neighbours.
void Bisection::search(const Solved &left, const Solved &right, const Solved *middle, double lambda) {
  double seconds = answer.cost.seconds;
  bool isBest = answer.bound >= std::min(options.most, seconds - options.solver.tolerance * std::abs(seconds));
  if (options.nodes == 0 || isBest) return;
  std::vector<BudgetSearch::Found> known{{answer.labels, answer.cost}};
  for (const Solved *each : {&left, &right, middle})
    if (each) known.push_back({each->solution.labels, each->cost()});
  BudgetSearch search(problem, options.solver, lambda, (middle ? *middle : left).solution.messages);
  search.run(bytes, options.nodes, known, options.most);
  answer.effort += search.getEffort();
  answer.bound = std::max(answer.bound, search.getBound());
  for (const BudgetSearch::Found &found : search.getFound()) offer(found.labels, found.cost);
}

BudgetAnswer Bisection::run() {
  Solved smallest = solveWith({0, 1}, nullptr, nullptr, bytes * (1 + rounding));
  take(smallest);
  answer.smallest = smallest.solution;
  if (!smallest.solution.found || smallest.solution.bound > bytes) return std::move(answer);
  Solved fastest = solveWith({1, 0}, &smallest, nullptr, options.most);
  take(fastest);
  if (!answer.found) return std::move(answer);
  if (fastest.cost().bytes > bytes) bisect(std::move(smallest), std::move(fastest));
  double seconds = answer.cost.seconds;
  if (answer.bound >= seconds - rounding * std::abs(seconds)) answer.bound = seconds;
  return std::move(answer);
}

BudgetAnswer tessera::solveWithBudget(const LabelProblem &problem, double bytes, const BudgetOptions &options) {
  return Bisection(problem, bytes, options).run();
}
