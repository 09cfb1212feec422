//===- LabelFrontier.cpp - bytes against seconds --------------------------===//

#include "passes/sharding/search/LabelFrontier.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <optional>

using namespace tessera;
using llvm::ArrayRef;

static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Relative to the sums.
static constexpr double rounding = 1e-10;
/// Budgets between two neighbours on the hull; the last one is the bytes of the right one.
static constexpr int levels = 8;

/// What is between two labellings, the left one with fewer bytes and more seconds.
struct LabelFrontier::Segment {
  /// What a search within a budget met.
  struct Level {
    std::vector<BudgetSearch::Found> found;
    double bound;
    bool isProven;
  };

  SolvedRef left, right;
  LabelWeights weights; ///< under which the two are equal
  bool isSplit = false;
  SolvedRef middle; ///< the solve with these weights, if one was needed
  std::unique_ptr<Segment> lower, upper;
  std::optional<Level> searched[levels - 1];

  double value() const { return weights.of(left->cost()); }
  bool isDivided() const { return middle && middle->solution.value < value() - rounding * std::abs(value()); }
  double budgetOf(int level) const {
    double share = static_cast<double>(level + 1) / levels;
    return left->cost().bytes + share * (right->cost().bytes - left->cost().bytes);
  }
};

double LabelFrontier::Solved::secondsWithin(double bytes) const {
  if (weights.seconds > 0) return (solution.bound - weights.bytes * bytes) / weights.seconds;
  return solution.bound > bytes ? infinity : -infinity;
}

LabelFrontier::LabelFrontier(const LabelProblem &problem, FrontierOptions options)
    : problem(problem), options(options) {
  smallest = fastest = solveWith({0, 1}, nullptr, nullptr, options.mostBytes * (1 + rounding));
  if (!smallest->solution.found || smallest->solution.bound > options.mostBytes) return;
  fastest = solveWith({1, 0}, smallest.get(), nullptr, options.most);
  root = makeSegment(smallest, fastest);
}

LabelFrontier::~LabelFrontier() = default;

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

LabelFrontier::SolvedRef LabelFrontier::solveWith(LabelWeights weights, const Solved *left, const Solved *right,
                                                  double most) {
  LabelMessages messages;
  std::vector<Labelling> known;
  for (const Solved *each : {left, right})
    if (each) known.push_back(each->solution.labels);
  if (left && right)
    messages = combine(weights, left->weights, right->weights, left->solution.messages, right->solution.messages);
  auto solved = std::make_shared<Solved>();
  solved->weights = weights;
  solved->solution = solve(problem, weights, options.solver, {known, &messages, nullptr, most});
  effort += solved->solution.effort;
  ++solves;
  return solved;
}

/// Null if one of the two has no more of either than the other one.
std::unique_ptr<LabelFrontier::Segment> LabelFrontier::makeSegment(SolvedRef left, SolvedRef right) const {
  LabelCost few = left->cost(), fast = right->cost();
  if (few.bytes >= fast.bytes || few.seconds <= fast.seconds) return nullptr;
  auto segment = std::make_unique<Segment>();
  segment->left = std::move(left), segment->right = std::move(right);
  segment->weights = {1, (few.seconds - fast.seconds) / (fast.bytes - few.bytes)};
  return segment;
}

/// The hull is above the lines that the two solves say; where they meet, it is deepest.
bool LabelFrontier::isFlat(const Segment &segment) const {
  LabelWeights a = segment.left->weights, b = segment.right->weights;
  double atA = segment.left->solution.bound, atB = segment.right->solution.bound;
  double determinant = a.seconds * b.bytes - a.bytes * b.seconds;
  if (determinant == 0) return true;
  LabelCost corner = {(atA * b.bytes - atB * a.bytes) / determinant, (a.seconds * atB - b.seconds * atA) / determinant};
  double value = segment.value();
  return value - segment.weights.of(corner) <= options.depth * std::abs(value);
}

void LabelFrontier::split(Segment &segment) {
  if (segment.isSplit) return;
  segment.isSplit = true;
  if (isFlat(segment)) return;
  SolvedRef middle = solveWith(segment.weights, segment.left.get(), segment.right.get(), infinity);
  segment.middle = middle;
  if (!segment.isDivided()) return;
  segment.lower = makeSegment(segment.left, middle);
  segment.upper = makeSegment(middle, segment.right);
}

void LabelFrontier::addHull(Segment &segment, std::vector<Point> &points) {
  split(segment);
  if (segment.lower) addHull(*segment.lower, points);
  if (segment.isDivided()) points.push_back({segment.middle->solution.labels, segment.middle->cost()});
  if (segment.upper) addHull(*segment.upper, points);
}

std::vector<LabelFrontier::Point> LabelFrontier::findHull() {
  std::vector<Point> points, hull;
  for (const SolvedRef &end : {smallest, fastest}) {
    if (end->solution.found) points.push_back({end->solution.labels, end->cost()});
    if (root && end == smallest) addHull(*root, points);
  }
  // The ends may have equals with less of the other cost, which came later.
  auto isAbove = [](const LabelCost &a, const LabelCost &b) { return a.seconds >= b.seconds && a.bytes >= b.bytes; };
  auto key = [](const Point &point) { return std::tie(point.cost.bytes, point.cost.seconds, point.labels); };
  llvm::sort(points, [&](const Point &a, const Point &b) { return key(a) < key(b); });
  for (Point &point : points)
    if (hull.empty() || !isAbove(point.cost, hull.back().cost)) hull.push_back(std::move(point));
  return hull;
}

/// A budget on its way to an answer.
struct LabelFrontier::Query {
  double bytes;
  BudgetAnswer answer;
  double leastSeconds = -infinity; ///< those of a labelling that larger budgets have

  bool sees(double seconds) const { return seconds >= leastSeconds - rounding * std::abs(leastSeconds); }
  void offer(const Labelling &labels, const LabelCost &cost) {
    if (cost.bytes > bytes || !sees(cost.seconds)) return;
    auto key = [](const LabelCost &of) { return std::tie(of.seconds, of.bytes); };
    if (answer.found && key(cost) >= key(answer.cost)) return;
    answer.found = true, answer.labels = labels, answer.cost = cost;
  }
  void raise(double bound) { answer.bound = std::max(answer.bound, bound); }
  /// By the dual of a solve.
  void raise(const Solved &solved) {
    double bound = solved.secondsWithin(bytes);
    if (bound > answer.bound && solved.weights.seconds > 0)
      answer.secondsPerByte = solved.weights.bytes / solved.weights.seconds;
    raise(bound);
  }
  void finish() {
    if (!answer.found) return;
    double seconds = answer.cost.seconds;
    answer.bound = answer.bound >= seconds - rounding * std::abs(seconds) ? seconds : answer.bound;
  }
};

BudgetAnswer LabelFrontier::findWithin(double bytes) {
  Query query{bytes, {}};
  query.answer.bound = -infinity;
  query.answer.leastBytes = smallest->weights.bytes > 0 ? smallest->solution.bound : -infinity;
  for (const SolvedRef &end : {fastest, smallest}) {
    query.raise(*end);
    if (end->solution.found) query.offer(end->solution.labels, end->cost());
  }
  if (!query.answer.found) return query.answer;
  query.leastSeconds = fastest->cost().seconds;
  for (Segment *segment = fastest->cost().bytes > bytes ? root.get() : nullptr;
       segment && query.answer.bound < options.most;) {
    split(*segment);
    if (segment->middle) query.raise(*segment->middle);
    if (!segment->isDivided() || !query.sees(segment->middle->cost().seconds)) {
      searchLevels(*segment, query);
      searchBudget(*segment, query);
      break;
    }
    const Solved &middle = *segment->middle;
    query.offer(middle.solution.labels, middle.cost());
    bool fits = middle.cost().bytes <= bytes;
    if (!fits) query.leastSeconds = std::max(query.leastSeconds, middle.cost().seconds);
    segment = fits ? segment->upper.get() : segment->lower.get();
  }
  query.finish();
  return query.answer;
}

/// From the first level that is not below the budget down to one that nothing below it can be better than.
void LabelFrontier::searchLevels(Segment &segment, Query &query) {
  if (options.budgetNodes == 0) return;
  int level = 0;
  while (level < levels - 1 && segment.budgetOf(level) < query.bytes) ++level;
  for (; level >= 0; --level) {
    if (level == levels - 1) continue; // The right labelling is its answer.
    searchLevel(segment, level);
    const Segment::Level &searched = *segment.searched[level];
    bool isWithin = segment.budgetOf(level) <= query.bytes;
    if (!isWithin) query.raise(searched.bound);
    for (const BudgetSearch::Found &found : searched.found) query.offer(found.labels, found.cost);
    // The best there is for the budget; or the best there is for the level, which larger budgets see too.
    double seconds = query.answer.cost.seconds;
    bool isBest = seconds - options.solver.tolerance * std::abs(seconds) <= searched.bound;
    if (isBest && (!isWithin || (searched.isProven && query.sees(searched.bound)))) return;
  }
}

void LabelFrontier::searchBudget(const Segment &segment, Query &query) {
  double seconds = query.answer.cost.seconds;
  bool isBest = query.answer.bound >= std::min(options.most, seconds - options.solver.tolerance * std::abs(seconds));
  if (options.ownNodes == 0 || isBest) return;
  std::vector<BudgetSearch::Found> known{{query.answer.labels, query.answer.cost}};
  for (const SolvedRef &each : {segment.left, segment.right, segment.middle})
    if (each) known.push_back({each->solution.labels, each->cost()});
  const Solved &nearest = segment.middle ? *segment.middle : *segment.left;
  BudgetSearch search(problem, options.solver, segment.weights.bytes, nearest.solution.messages);
  search.run(query.bytes, options.ownNodes, known, options.most);
  effort += search.getEffort();
  query.leastSeconds = -infinity;
  query.raise(search.getBound());
  for (const BudgetSearch::Found &found : search.getFound()) query.offer(found.labels, found.cost);
}

void LabelFrontier::searchLevel(Segment &segment, int level) {
  if (segment.searched[level]) return;
  std::vector<BudgetSearch::Found> known;
  for (const SolvedRef &each : {segment.left, segment.right, segment.middle})
    if (each) known.push_back({each->solution.labels, each->cost()});
  const Solved &nearest = segment.middle ? *segment.middle : *segment.left;
  BudgetSearch search(problem, options.solver, segment.weights.bytes, nearest.solution.messages);
  search.run(segment.budgetOf(level), options.budgetNodes, known);
  effort += search.getEffort();
  ArrayRef<BudgetSearch::Found> found = search.getFound();
  segment.searched[level] = {{found.begin(), found.end()}, search.getBound(), search.isProven()};
}
