//===- LayerValues.cpp - what layers save or recompute, value by value ----===//

#include "passes/rematerialize/LayerValues.h"
#include "passes/rematerialize/Policies.h"

using namespace mlir;
using namespace tessera;

namespace {

/// A policy of some layers, completed by what it needs.
struct SpanPolicy {
  int64_t layers = 0;
  llvm::BitVector recomputed;
  llvm::SetVector<Value> saved;
};

/// The values of one stack.
class StackValues {
public:
  StackValues(const LayerPair &pair, ArrayRef<LayerSpan> spans, const PinPatterns &names, const OpTimes &times);
  void list(std::vector<LayerValue> &values);

private:
  SpanPolicy policyOf(int64_t layers, llvm::BitVector recomputed) const;
  LayerAlternative costOf(const SpanPolicy &policy) const;
  std::optional<LayerAlternative> alternativeOf(int unit, const LayerValue &value) const;
  LayerValue describe(Value root) const;

  const LayerPair &pair;
  const PinPatterns &names;
  const OpTimes &times;
  RepeatOp forward;
  int64_t layers;
  std::vector<Credit> credits;
  std::vector<SpanPolicy> policies;
  int64_t segments = 0, inSegments = 0; ///< and the layers in them
};

} // namespace

StackValues::StackValues(const LayerPair &pair, ArrayRef<LayerSpan> spans, const PinPatterns &names,
                         const OpTimes &times)
    : pair(pair), names(names), times(times), forward(pair.forward), layers(forward.getAxis().getSize()),
      credits(creditsOf(pair, times)) {
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
LayerAlternative StackValues::costOf(const SpanPolicy &policy) const {
  LayerAlternative cost;
  for (unsigned unit : policy.recomputed.set_bits()) cost.seconds += secondsOf(pair.units[unit], times);
  for (const Credit &credit : credits)
    if (!credit.units.test(policy.recomputed)) cost.seconds -= credit.seconds;
  cost.seconds *= static_cast<double>(policy.layers * timesRun(forward->getBlock()));
  for (Value value : policy.saved) cost.bytes += policy.layers * tensorType(value).getNumBytes();
  return cost;
}

std::optional<LayerAlternative> StackValues::alternativeOf(int unit, const LayerValue &value) const {
  if (unit < 0 || (value.saved == 0 && segments > 0)) return std::nullopt;
  bool recomputes = value.saved > 0;
  LayerAlternative change;
  for (const SpanPolicy &policy : policies) {
    if (policy.recomputed[unit] == recomputes) continue;
    llvm::BitVector units = policy.recomputed;
    units[unit] = recomputes;
    SpanPolicy other = policyOf(policy.layers, std::move(units));
    if (other.recomputed[unit] != recomputes) return std::nullopt;
    LayerAlternative before = costOf(policy), after = costOf(other);
    change.seconds += after.seconds - before.seconds, change.bytes += after.bytes - before.bytes;
  }
  return change;
}

LayerValue StackValues::describe(Value root) const {
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
  value.alternative = alternativeOf(unit, value);
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
                                                 const OpTimes &times) {
  std::vector<LayerValue> values;
  for (auto [i, repeats] : llvm::enumerate(allLayerPairs(step))) {
    LayerPair pair(repeats.first, repeats.second);
    ArrayRef<LayerSpan> spans = i < plan.pairs.size() ? ArrayRef<LayerSpan>(plan.pairs[i]) : ArrayRef<LayerSpan>();
    StackValues(pair, spans, names, times).list(values);
  }
  return values;
}
