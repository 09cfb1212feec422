//===- PlanWords.cpp - what a plan recomputes, for a person ---------------===//

#include "passes/rematerialize/PlanWords.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;

namespace {
/// Words about the layers of one stack.
class StackWords {
public:
  explicit StackWords(const LayerPair &pair) : units(pair.units.size()) {
    RepeatOp forward = pair.forward;
    axis = forward.getAxis().getName().str(), layers = forward.getAxis().getSize();
  }

  /// Empty if the spans recompute nothing.
  std::string of(ArrayRef<LayerSpan> spans) {
    for (const LayerSpan &span : spans) add(span);
    return parts.empty() ? "" : axis + " " + llvm::join(parts, ", ");
  }

private:
  void add(const LayerSpan &span) {
    std::string what;
    if (span.segments > 0) {
      what = llvm::formatv("{0} segment{1} of {2}", span.segments, span.segments == 1 ? "" : "s",
                           span.layers / span.segments);
      if (span.inside.front().recomputed.any()) what += ", " + ops(span.inside.front());
    } else if (span.recomputed.any()) {
      what = ops(span);
    }
    if (what.empty()) return;
    std::string all = parts.empty() && span.layers < layers ? " of " + std::to_string(layers) : "";
    parts.push_back(llvm::formatv("x {0}{1}: {2}", span.layers, all, what).str());
  }

  /// "9 of 14 ops"; after the first time "9".
  std::string ops(const LayerSpan &span) {
    std::string count = std::to_string(span.recomputed.count());
    if (saysOf) return count;
    saysOf = true;
    return count + " of " + std::to_string(units) + " ops";
  }

  size_t units;
  std::string axis;
  int64_t layers;
  std::vector<std::string> parts;
  bool saysOf = false;
};
} // namespace

std::string tessera::wordsOf(func::FuncOp step, const RecomputePlan &plan) {
  std::vector<std::string> parts;
  for (auto [pair, spans] : llvm::zip(allLayerPairs(step), plan.pairs))
    if (std::string words = StackWords(LayerPair(pair.first, pair.second)).of(spans); !words.empty())
      parts.push_back(std::move(words));
  size_t outside = 0;
  for (const llvm::BitVector &units : plan.blocks) outside += units.count();
  if (outside > 0) parts.push_back(llvm::formatv("{0} op{1} outside of stacks", outside, outside == 1 ? "" : "s"));
  return parts.empty() ? "nothing" : llvm::join(parts, "; ");
}
