//===- BudgetMoves.cpp - labellings changed to fit a budget ---------------===//

#include "passes/sharding/search/BudgetMoves.h"
#include "llvm/ADT/STLExtras.h"

using namespace tessera;

BudgetMoves::BudgetMoves(const LabelProblem &problem) : problem(problem), incidences(problem.size()) {
  for (auto [number, pair] : llvm::enumerate(problem.getPairs())) {
    incidences[pair.ends[0]].push_back({unsigned(number), true});
    incidences[pair.ends[1]].push_back({unsigned(number), false});
  }
}

/// Of what a variable takes part in.
LabelCost BudgetMoves::costOf(const Labelling &labels, unsigned variable, unsigned label) const {
  LabelCost cost = problem.labels(variable)[label];
  for (Incidence at : incidences[variable]) {
    const LabelProblem::Pair &pair = problem.getPairs()[at.pair];
    cost += at.isFirst ? pair.cost(label, labels[pair.ends[1]]) : pair.cost(labels[pair.ends[0]], label);
  }
  return cost;
}

template <typename Rank>
std::optional<BudgetMoves::Move> BudgetMoves::bestMove(const Labelling &labels, Rank rank) const {
  std::optional<Move> best;
  double bestRank = 0;
  for (unsigned variable = 0; variable < labels.size(); ++variable) {
    LabelCost now = costOf(labels, variable, labels[variable]);
    for (unsigned label = 0; label < problem.labels(variable).size(); ++label) {
      LabelCost then = costOf(labels, variable, label);
      if (!then.isAllowed()) continue;
      LabelCost change = {then.seconds - now.seconds, then.bytes - now.bytes};
      std::optional<double> ranked = rank(change);
      if (!ranked || (best && *ranked >= bestRank)) continue;
      best = Move{variable, label, change}, bestRank = *ranked;
    }
  }
  return best;
}

bool BudgetMoves::fit(Labelling &labels, double bytes) const {
  // Each move lowers one of the two, but for rounding; that might let a few moves alternate for ever.
  const size_t mostMoves = 4 * labels.size();
  auto savesBytes = [&](LabelCost change) -> std::optional<double> {
    if (change.bytes >= 0) return std::nullopt;
    return change.seconds / -change.bytes;
  };
  LabelCost cost = problem.cost(labels);
  auto savesSeconds = [&](LabelCost change) -> std::optional<double> {
    if (change.seconds >= 0 || cost.bytes + change.bytes > bytes) return std::nullopt;
    return change.seconds;
  };
  for (size_t moves = 0; moves < mostMoves; ++moves) {
    std::optional<Move> move = cost.bytes > bytes ? bestMove(labels, savesBytes) : bestMove(labels, savesSeconds);
    if (!move) break;
    labels[move->variable] = move->label;
    cost = problem.cost(labels);
  }
  return cost.bytes <= bytes;
}
