//===- LayerValues.cpp - what layers save or recompute, value by value ----===//

#include "passes/rematerialize/LayerValues.h"
#include "passes/rematerialize/Policies.h"
#include <map>

using namespace mlir;
using namespace tessera;

namespace {

/// A policy of some layers, completed by what it needs.
struct SpanPolicy {
  int64_t layers = 0;
  llvm::BitVector recomputed;
  llvm::SetVector<Value> saved;
};

/// A plan of recomputation for a step, and the memory that it takes.
struct MeasuredPlan {
  func::FuncOp step;
  RecomputePlan plan;
  std::optional<int64_t> bytes; ///< of the arena; none: not measured

  void measureBytes() { bytes = measure(step, plan, 0, true).bytes; }
  /// Bytes that the step takes more with other spans for a stack.
  int64_t moreWith(size_t stack, std::vector<LayerSpan> spans) const {
    MeasuredPlan other = *this;
    other.plan.pairs[stack] = std::move(spans), other.measureBytes();
    return *other.bytes - *bytes;
  }
};

/// The values of one stack, by its number.
class StackValues {
public:
  StackValues(const LayerPair &pair, size_t stack, const MeasuredPlan &plan, const PinPatterns &names,
              const OpTimes &times);
  void list(std::vector<LayerValue> &values);

private:
  SpanPolicy policyOf(int64_t layers, llvm::BitVector recomputed) const;
  double secondsOf(const SpanPolicy &policy) const;
  std::optional<LayerAlternative> findAlternative(int unit, bool recomputes) const;
  std::optional<LayerAlternative> alternativeOf(int unit, bool recomputes);
  LayerValue describe(Value root);

  const LayerPair &pair;
  size_t stack;
  const MeasuredPlan &plan;
  const PinPatterns &names;
  const OpTimes &times;
  RepeatOp forward;
  int64_t layers;
  std::vector<Credit> credits;
  std::vector<SpanPolicy> policies;
  int64_t segments = 0, inSegments = 0;                                         ///< and the layers in them
  std::map<std::pair<int, bool>, std::optional<LayerAlternative>> alternatives; ///< results of a unit share them
};

} // namespace

StackValues::StackValues(const LayerPair &pair, size_t stack, const MeasuredPlan &plan, const PinPatterns &names,
                         const OpTimes &times)
    : pair(pair), stack(stack), plan(plan), names(names), times(times), forward(pair.forward),
      layers(forward.getAxis().getSize()), credits(creditsOf(pair, times)) {
  ArrayRef<LayerSpan> spans = plan.plan.pairs[stack];
  if (spans.empty()) policies.push_back(policyOf(layers, llvm::BitVector(pair.units.size())));
  for (const LayerSpan &span : spans)
    if (span.segments == 0)
      policies.push_back(policyOf(span.layers, span.recomputed));
    else
      segments += span.segments, inSegments += span.layers;
}

SpanPolicy StackValues::policyOf(int64_t layers, llvm::BitVector recomputed) const {
  llvm::SetVector<Value> saved = pair.savedWith(recomputed); // removes what nothing needs
  return {layers, std::move(recomputed), std::move(saved)};
}

/// Of all layers of the span.
double StackValues::secondsOf(const SpanPolicy &policy) const {
  double seconds = 0;
  for (unsigned unit : policy.recomputed.set_bits()) seconds += tessera::secondsOf(pair.units[unit], times);
  for (const Credit &credit : credits)
    if (!credit.units.test(policy.recomputed)) seconds -= credit.seconds;
  return seconds * static_cast<double>(policy.layers * timesRun(forward->getBlock()));
}

/// What changes if all spans recompute a unit, or all save it.
std::optional<LayerAlternative> StackValues::findAlternative(int unit, bool recomputes) const {
  LayerAlternative change;
  std::vector<LayerSpan> spans;
  for (const SpanPolicy &policy : policies) {
    llvm::BitVector units = policy.recomputed;
    units[unit] = recomputes;
    SpanPolicy other = policyOf(policy.layers, std::move(units));
    if (other.recomputed[unit] != recomputes) return std::nullopt;
    change.seconds += secondsOf(other) - secondsOf(policy);
    spans.push_back({policy.layers, std::move(other.recomputed), 0, {}});
  }
  change.bytes = plan.moreWith(stack, std::move(spans));
  return change;
}

std::optional<LayerAlternative> StackValues::alternativeOf(int unit, bool recomputes) {
  if (!plan.bytes || unit < 0 || segments > 0) return std::nullopt;
  auto [known, isNew] = alternatives.try_emplace({unit, recomputes});
  if (isNew) known->second = findAlternative(unit, recomputes);
  return known->second;
}

LayerValue StackValues::describe(Value root) {
  LayerValue value;
  int unit = pair.unitOf(root);
  value.name = names.nameOf(root);
  if (unit >= 0) value.path = PinPatterns::pathOf(value.name);
  value.axis = RepeatOp(forward).getAxis().getName().str(), value.layers = layers;
  value.bytes = layers * tensorType(root).getNumBytes();
  for (const SpanPolicy &policy : policies) {
    if (policy.saved.contains(root)) value.saved += policy.layers;
    if (unit >= 0 && policy.recomputed[unit]) value.recomputed += policy.layers;
  }
  if (unit < 0)
    value.saved += segments; // their inputs
  else
    value.recomputed += inSegments;
  value.alternative = alternativeOf(unit, value.saved > 0);
  return value;
}

void StackValues::list(std::vector<LayerValue> &values) {
  llvm::DenseSet<Value> stored(pair.needed.begin(), pair.needed.end());
  for (const SpanPolicy &policy : policies) stored.insert(policy.saved.begin(), policy.saved.end());
  Block &block = forward.getBlock();
  for (Value argument : block.getArguments())
    if (stored.contains(argument) || (segments > 0 && llvm::is_contained(forward.getCarriedArgs(), argument)))
      values.push_back(describe(argument));
  for (const RecomputeUnit &unit : pair.units)
    for (Operation *op : unit.ops)
      for (Value result : op->getResults())
        if (stored.contains(result)) values.push_back(describe(result));
}

std::vector<LayerValue> tessera::listLayerValues(func::FuncOp step, const RecomputePlan &plan, const PinPatterns &names,
                                                 const OpTimes &times, bool priced) {
  std::vector<LayerValue> values;
  auto pairs = allLayerPairs(step);
  MeasuredPlan measured{step, plan, std::nullopt};
  measured.plan.pairs.resize(pairs.size());
  if (priced && !pairs.empty()) measured.measureBytes();
  for (auto [i, repeats] : llvm::enumerate(pairs))
    StackValues(LayerPair(repeats.first, repeats.second), i, measured, names, times).list(values);
  return values;
}
