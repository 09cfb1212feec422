//===- ProgramCosts.cpp - the predicted times of a program ----------------===//

#include "passes/cost/ProgramCosts.h"

using namespace mlir;
using namespace tessera;

/// Makes `mean` the mean of its runs and those of `other`.
static void addRuns(CallCost &mean, const CallCost &other) {
  if (!mean.call) {
    mean = other;
    return;
  }
  double before = mean.runs / (mean.runs + other.runs), after = 1 - before;
  for (auto [bytes, more] : llvm::zip(mean.work.traffic, other.work.traffic)) bytes = before * bytes + after * more;
  mean.seconds = before * mean.seconds + after * other.seconds;
  mean.runs += other.runs;
}

ProgramCosts::ProgramCosts(ArrayRef<CallSequence> sequences, const Target &target, int threads)
    : model(target, threads) {
  std::map<std::pair<Call::Kind, uint32_t>, CallCost> elsewhere; // than in `step`
  for (const CallSequence &sequence : sequences) {
    EntryCost &entry = entries[sequence.entry];
    for (const CallCost &cost : costsOf(sequence, model)) {
      entry.seconds += cost.runs * cost.seconds;
      entry.passes[cost.call->pass] += cost.runs * cost.seconds;
      if (cost.call->first) addRuns(calls[cost.call->first], cost);
      if (cost.call->kind != Call::Kind::Copy)
        addRuns((sequence.entry == "step" ? means : elsewhere)[{cost.call->kind, cost.call->number}], cost);
    }
  }
  means.insert(elsewhere.begin(), elsewhere.end());
}

const CallCost *ProgramCosts::meanOf(Call::Kind kind, uint32_t number) const {
  auto found = means.find({kind, number});
  return found == means.end() ? nullptr : &found->second;
}

const CallCost *ProgramCosts::costOf(Operation *first) const {
  auto found = calls.find(first);
  return found == calls.end() ? nullptr : &found->second;
}
