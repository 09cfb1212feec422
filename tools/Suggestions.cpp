//===- Suggestions.cpp - changes with which a model fits a device ---------===//
//
// A lever is one way to need less memory, in steps from the mildest to the strongest. Whether levers suffice is tried
// with their strongest steps. If they do, each is relaxed, beginning with the one that changes the training most.
//
//===----------------------------------------------------------------------===//

#include "tools/Suggestions.h"
#include "frontend/Frontend.h"
#include "passes/memory/BatchSearch.h"
#include "runtime/base/DataFormat.h"
#include "runtime/base/Error.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/train/MemoryNeeds.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {
/// Levers are in the order of how much they change the training.
struct Lever {
  int64_t steps = 0; ///< numbered from 1, the strongest, to this, the mildest
  std::function<TrialOptions(int64_t step)> optionsOf;
  std::function<std::string(int64_t step)> meaningOf;
  /// Whether each step needs no less memory than the ones before. Else all are tried.
  bool isOrdered = true;
  /// Levers that reduce the same make no combination; 0: none does.
  int group = 0;
};

/// A step for each of some levers; 0: the lever is not used.
using Steps = std::vector<int64_t>;
} // namespace

/// Of the levers that change the rows of a micro-batch.
static constexpr int ofRows = 1;

//===----------------------------------------------------------------------===//
// Levers
//===----------------------------------------------------------------------===//

/// What the backward pass computes again, as little as suffices.
static std::optional<Lever> memoryLever(Trials &trials) {
  const MemoryOptions &given = trials.options().memory;
  trials.planWith({}); // reads the data
  if (!given.memory.empty() || !given.remat.empty() || trials.limitOfProgram() <= 0) return std::nullopt;
  Lever lever;
  lever.steps = 1;
  std::string amount = memoryWithin(trials.limitOfProgram());
  lever.optionsOf = [amount](int64_t) { return TrialOptions{{TrialOption::Memory, amount}}; };
  lever.meaningOf = [](int64_t) {
    return std::string("the same steps, bit for bit: what does not fit is computed again");
  };
  return lever;
}

/// Memory that a GPU program spends for speed.
static std::optional<Lever> preferLever(const Trials &trials) {
  if (!trials.target().isGpu() || trials.target().preference == Preference::Memory) return std::nullopt;
  Lever lever;
  lever.steps = 1;
  lever.optionsOf = [](int64_t) { return TrialOptions{{TrialOption::Prefer, "memory"}}; };
  lever.meaningOf = [](int64_t) { return std::string("the same steps, slower: values are computed twice, not saved"); };
  return lever;
}

/// The numbers of micro-batches above `present` that a batch of `rows` can be divided into.
static std::vector<int64_t> microBatchCounts(int64_t rows, int64_t present) {
  std::vector<int64_t> small, large;
  for (int64_t count = 1; count * count <= rows; ++count) {
    if (rows % count != 0) continue;
    if (count > present) small.push_back(count);
    if (count * count != rows && rows / count > present) large.push_back(rows / count);
  }
  small.insert(small.end(), large.rbegin(), large.rend());
  return small;
}

static std::optional<Lever> accumulateLever(const DataSizes &sizes) {
  auto batch = sizes.axes.find(data_keys::batch);
  if (batch == sizes.axes.end()) return std::nullopt;
  int64_t rows = batch->second;
  std::vector<int64_t> counts = microBatchCounts(rows, sizes.microBatches);
  Lever lever;
  lever.steps = static_cast<int64_t>(counts.size());
  auto countAt = [counts](int64_t step) { return counts[counts.size() - step]; };
  lever.optionsOf = [countAt](int64_t step) {
    return TrialOptions{{TrialOption::Set, fmt::format("accumulate={}", countAt(step))}};
  };
  lever.meaningOf = [countAt, rows](int64_t step) {
    return fmt::format("the same batch in micro-batches of {}", rows / countAt(step));
  };
  lever.group = ofRows;
  return lever;
}

/// The types to compute in after the present one, and then types of parameters without a master copy.
static std::optional<Lever> precisionLever(const Trials &trials) {
  std::vector<std::pair<TrialOptions, std::string>> choices; // from the strongest
  std::vector<std::string> types = computeTypes(), ofWeights = weightTypes();
  for (const std::string &type : llvm::drop_begin(ofWeights))
    choices.push_back({{{TrialOption::Precision, type}, {TrialOption::Set, "compute.weights=" + type}},
                       "computes in " + type + ", with weights in " + type + " and no copy of them in f32"});
  auto present = llvm::find(types, trials.computeType());
  for (auto type = types.end(); type != types.begin() && --type != present;)
    choices.push_back({{{TrialOption::Precision, *type}}, "computes in " + *type});
  Lever lever;
  lever.steps = static_cast<int64_t>(choices.size());
  lever.optionsOf = [choices](int64_t step) { return choices[step - 1].first; };
  lever.meaningOf = [choices](int64_t step) { return choices[step - 1].second; };
  lever.isOrdered = false;
  return lever;
}

/// Smaller sizes of an axis of the data.
static std::optional<Lever> sizeLever(Trials &trials, const char *axis) {
  std::string problem;
  std::optional<SizeSetting> setting = findSizeSetting(trials, axis, problem);
  if (!setting) return std::nullopt;
  Lever lever;
  lever.steps = setting->size / setting->unit - 1;
  lever.optionsOf = [setting](int64_t step) { return setting->with(step * setting->unit); };
  lever.meaningOf = [setting](int64_t step) {
    return fmt::format("{} {} in place of {}", setting->axis, step * setting->unit, setting->size);
  };
  lever.group = setting->axis == data_keys::batch ? ofRows : 0;
  return lever;
}

static std::vector<Lever> leversOf(Trials &trials) {
  std::string problem;
  std::optional<DataSizes> sizes = trials.sizesWith({}, problem);
  bool hasLeaves = trials.options().mesh.leaves > 0; // which cut the batch already
  std::vector<Lever> levers;
  for (const std::optional<Lever> &lever :
       {memoryLever(trials), preferLever(trials), sizes && !hasLeaves ? accumulateLever(*sizes) : std::nullopt,
        precisionLever(trials), sizeLever(trials, data_keys::batch), sizeLever(trials, data_keys::seq)})
    if (lever && lever->steps > 0) levers.push_back(*lever);
  return levers;
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
class SuggestionSearch {
public:
  explicit SuggestionSearch(Trials &trials) : trials(trials), levers(leversOf(trials)) {}

  /// Of the smallest combinations that suffice, and of larger ones that change the training less than all of these.
  std::vector<Suggestion> find();

private:
  std::vector<std::vector<size_t>> combinations(size_t count) const;
  bool mayCombine(const std::vector<size_t> &chosen) const;
  TrialOptions optionsOf(const Steps &steps) const;
  const Trial &planWith(const Steps &steps) { return trials.planWith(optionsOf(steps)); }
  int64_t strongestStep(Steps steps, size_t lever);
  int64_t mildestStep(Steps steps, size_t lever);
  std::optional<Suggestion> tryLevers(const std::vector<size_t> &chosen);
  Suggestion suggestionOf(const Steps &steps);

  Trials &trials;
  std::vector<Lever> levers;
};
} // namespace

bool SuggestionSearch::mayCombine(const std::vector<size_t> &chosen) const {
  for (size_t i = 0; i < chosen.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (levers[chosen[i]].group != 0 && levers[chosen[i]].group == levers[chosen[j]].group) return false;
  return true;
}

/// The combinations of so many levers, those that change the training less first: their last levers are compared, then
/// the ones before.
std::vector<std::vector<size_t>> SuggestionSearch::combinations(size_t count) const {
  std::vector<std::vector<size_t>> result;
  for (size_t bits = 1; bits < size_t(1) << levers.size(); ++bits) {
    std::vector<size_t> chosen;
    for (size_t lever = 0; lever < levers.size(); ++lever)
      if (bits >> lever & 1) chosen.push_back(lever);
    if (chosen.size() == count && mayCombine(chosen)) result.push_back(std::move(chosen));
  }
  return result;
}

TrialOptions SuggestionSearch::optionsOf(const Steps &steps) const {
  TrialOptions options;
  for (size_t lever = 0; lever < levers.size(); ++lever)
    if (steps[lever] > 0)
      for (const TrialOption &option : levers[lever].optionsOf(steps[lever])) options.push_back(option);
  return options;
}

/// The strongest step of a lever with which there is a plan, beside the steps of the others. 0: none. A model may
/// refuse the first ones, as the variance of one row.
int64_t SuggestionSearch::strongestStep(Steps steps, size_t lever) {
  if (levers[lever].isOrdered) {
    for (int64_t step = 1; step <= levers[lever].steps; step *= 2)
      if (steps[lever] = step; planWith(steps).fit) return step;
    return 0;
  }
  int64_t best = 0;
  std::optional<int64_t> least;
  for (int64_t step = levers[lever].steps; step >= 1; --step) {
    steps[lever] = step;
    std::optional<int64_t> needed = planWith(steps).needed();
    if (needed && (!least || *needed < *least)) best = step, least = needed;
  }
  return best;
}

/// The mildest step of a lever with which the model fits, beside the steps of the others; it fits with the present one.
int64_t SuggestionSearch::mildestStep(Steps steps, size_t lever) {
  auto planAt = [&](int64_t step) -> const Trial & { return steps[lever] = step, planWith(steps); };
  int64_t fitting = steps[lever], most = levers[lever].steps;
  if (!levers[lever].isOrdered) {
    while (!planAt(most).fits()) --most; // ends at the present one
    return most;
  }
  if (planAt(most).fits()) return most;
  auto bytesAt = [&](int64_t step) { return planAt(step).needed(); };
  return largestBatch({fitting, bytesAt(fitting)}, {most, bytesAt(most)}, trials.limit(), bytesAt);
}

std::optional<Suggestion> SuggestionSearch::tryLevers(const std::vector<size_t> &chosen) {
  Steps steps(levers.size());
  for (size_t lever : chosen)
    if ((steps[lever] = strongestStep(steps, lever)) == 0) return std::nullopt;
  if (!planWith(steps).fits()) return std::nullopt;
  for (size_t i = chosen.size(); i-- > 0;) steps[chosen[i]] = mildestStep(steps, chosen[i]);
  return suggestionOf(steps);
}

std::vector<Suggestion> SuggestionSearch::find() {
  std::vector<Suggestion> found;
  size_t bound = levers.size(); // a combination without this lever and those after it changes the training less
  for (size_t count = 1; count <= levers.size(); ++count) {
    std::vector<Suggestion> ofCount;
    size_t nextBound = bound;
    for (const std::vector<size_t> &chosen : combinations(count)) {
      if (chosen.back() >= bound) break;
      std::optional<Suggestion> suggestion = tryLevers(chosen);
      if (!suggestion) continue;
      if (ofCount.empty()) nextBound = chosen.back();
      ofCount.push_back(std::move(*suggestion));
    }
    found.insert(found.begin(), ofCount.begin(), ofCount.end());
    bound = nextBound;
  }
  return found;
}

Suggestion SuggestionSearch::suggestionOf(const Steps &steps) {
  const Trial &trial = planWith(steps), &now = trials.planWith({});
  Suggestion suggestion{optionsOf(steps), "", trial.fit->needed, trial.time, {}};
  for (size_t lever = 0; lever < levers.size(); ++lever)
    if (steps[lever] > 0)
      suggestion.meaning += (suggestion.meaning.empty() ? "" : "; ") + levers[lever].meaningOf(steps[lever]);
  for (const std::string &warning : trial.warnings)
    if (!llvm::is_contained(now.warnings, warning)) suggestion.warnings.push_back(warning);
  return suggestion;
}

Suggestions tessera::findSuggestions(Trials &trials) {
  Suggestions suggestions;
  suggestions.fitsAlready = trials.planWith({}).fits();
  if (!suggestions.fitsAlready) {
    suggestions.changes = SuggestionSearch(trials).find();
    return suggestions;
  }
  std::string problem;
  if (std::optional<SizeSetting> setting = findSizeSetting(trials, data_keys::batch, problem))
    suggestions.largest = findLargest(trials, *setting);
  return suggestions;
}

//===----------------------------------------------------------------------===//
// As text and JSON
//===----------------------------------------------------------------------===//

std::string tessera::describeSuggestions(const Suggestions &suggestions, const PlannedDevice &device) {
  if (suggestions.fitsAlready) {
    std::string text = "suggestions none are needed: it fits\n";
    return suggestions.largest ? text + describeLargest(*suggestions.largest, device) : text;
  }
  if (suggestions.changes.empty()) return "suggestions none: no smaller batch, sequence or type suffices\n";
  std::string text = "suggestions, each of which suffices; the first one changes the training least\n";
  for (const Suggestion &change : suggestions.changes) {
    text += fmt::format("  {:>10}  {}\n              {}{}{}\n", formatBytes(change.needed), textOf(change.options),
                        change.meaning, change.time.empty() ? "" : "; ", change.time);
    for (const std::string &warning : change.warnings) text += fmt::format("              warning: {}\n", warning);
  }
  return text;
}

Json tessera::suggestionsAsJson(const Suggestions &suggestions, const PlannedDevice &device) {
  Json changes = Json::array();
  for (const Suggestion &change : suggestions.changes)
    changes.push_back({{"options", textOf(change.options)},
                       {"meaning", change.meaning},
                       {"needed", change.needed},
                       {"time", change.time.empty() ? Json() : Json(change.time)},
                       {"warnings", change.warnings}});
  Json json = {{"fits", suggestions.fitsAlready}, {"changes", std::move(changes)}};
  if (suggestions.largest) json["largest"] = largestAsJson(*suggestions.largest, device);
  return json;
}
