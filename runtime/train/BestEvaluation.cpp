//===- BestEvaluation.cpp - the best evaluation of a run ------------------===//

#include "runtime/train/BestEvaluation.h"

#include <algorithm>
#include <cmath>

namespace tessera::runtime {

static constexpr const char *totalName = "total";

BestEvaluation::BestEvaluation(const std::string &wanted, const EntryFunction &evaluate, const char *option)
    : goal(wanted.empty() ? totalName : wanted), name(goal) {
  bool isExplicit = goal.ends_with(")") && (goal.starts_with("min(") || goal.starts_with("max("));
  if (isExplicit) {
    isMaximum = goal.starts_with("max(");
    name = goal.substr(4, goal.size() - 5);
  }
  std::vector<std::string> known;
  for (const ValueSpec &value : evaluate.outputs) {
    if (value.role != "loss" && value.role != "metric") continue;
    known.push_back(value.name);
    if (value.name != name) continue;
    if (value.role == "metric" && !isExplicit)
      failUsage("{}={}: '{}' is a metric; say whether the largest or the smallest is best: max({}) or min({})", option,
                goal, name, name, name);
    return;
  }
  if (name == totalName && isMaximum)
    failUsage("{}={}: the total of the losses is what training makes small; its smallest value is best: {}", option,
              goal, totalName);
  if (name != totalName)
    failUsage("{}={}: the program evaluates no loss or metric '{}', but {}", option, goal, name,
              fmt::join(known, ", "));
}

double BestEvaluation::valueOf(const EvaluationResult &result) const {
  for (const NamedValues *values : {&result.losses, &result.metrics})
    for (const auto &[each, value] : *values)
      if (each == name) return value;
  return result.total;
}

bool BestEvaluation::note(int64_t step, const EvaluationResult &result) {
  double value = valueOf(result);
  bool isBetter = std::isfinite(value) && (bestStep < 0 || (isMaximum ? value > best : value < best));
  if (!isBetter) {
    if (bestStep >= 0) ++since;
    return false;
  }
  best = value, bestStep = step, since = 0;
  return true;
}

void BestEvaluation::noteSaved(bool isOnlyBest) {
  if (isOnly && saved != bestStep) superseded = saved;
  saved = bestStep, isOnly = isOnlyBest;
}

std::string BestEvaluation::describe() const {
  return fmt::format("`{}` has not improved in {} evaluation{}; the best was {:.5g} at step {}", goal, since,
                     since == 1 ? "" : "s", best, bestStep);
}

Json BestEvaluation::record() const {
  if (bestStep < 0) return nullptr;
  return {{"of", goal},          {"value", best},
          {"step", bestStep},    {"evaluations_since", since},
          {"only_best", isOnly}, {"saved_step", saved < 0 ? Json() : Json(saved)}};
}

void BestEvaluation::restore(const Json &record) {
  try {
    if (record.is_null() || record.at("of") != goal || bestStepIn(record) < 0) return;
    double value = record.at("value").get<double>();
    int64_t evaluations = std::max<int64_t>(0, record.at("evaluations_since").get<int64_t>());
    isOnly = record.at("only_best").get<bool>();
    best = value, since = evaluations, bestStep = bestStepIn(record), saved = savedBestStepIn(record);
  } catch (const Json::exception &) {
  }
}

/// The step at `key`; -1 if there is none.
static int64_t stepIn(const Json &record, const char *key) {
  if (!record.is_object() || !record.contains(key) || !record[key].is_number_integer()) return -1;
  return record[key].get<int64_t>();
}

int64_t bestStepIn(const Json &record) { return stepIn(record, "step"); }

int64_t savedBestStepIn(const Json &record) {
  // Older checkpoints do not record it: they took it for granted.
  return stepIn(record, record.is_object() && record.contains("saved_step") ? "saved_step" : "step");
}

} // namespace tessera::runtime
