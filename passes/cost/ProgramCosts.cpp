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

/// Operations of a multiplication.
static double flopsOf(const MultiplyWork &gemm) {
  return 2 * gemm.count * double(gemm.m) * double(gemm.n) * double(gemm.k);
}

EntryCost ProgramCosts::costOf(const CallSequence &sequence, ArrayRef<CallCost> costs) const {
  EntryCost entry;
  std::map<std::pair<ElementType, bool>, double> flops; // by type, and whether it is rounded to tf32
  SmallVector<size_t> open;
  for (const auto &step : sequence.steps) {
    if (const auto *loop = std::get_if<LoopBegin>(&step)) {
      entry.loops.push_back({loop->axis, loop->iterations, static_cast<unsigned>(open.size()), loop->pass, 0});
      open.push_back(entry.loops.size() - 1);
    } else if (std::holds_alternative<LoopEnd>(step)) {
      open.pop_back();
    } else {
      const CallCost &cost = costs.front();
      costs = costs.drop_front();
      double seconds = cost.runs * cost.seconds;
      entry.calls += cost.runs;
      entry.seconds += seconds, entry.passes[cost.call->pass] += seconds;
      for (size_t loop : open) entry.loops[loop].seconds += seconds;
      if (cost.call->kind == CallKind::Exchange)
        if (auto assumed = model.assumedLinks(cost.work.exchange); !assumed.empty())
          entry.assumedSeconds += seconds, entry.assumedLinks.insert(assumed.begin(), assumed.end());
      for (const MultiplyWork &gemm : cost.work.gemms) flops[{gemm.type, gemm.tf32}] += cost.runs * flopsOf(gemm);
    }
  }
  double most = 0;
  for (const auto &[type, operations] : flops) {
    entry.flops += operations;
    if (operations > most)
      most = operations, entry.type = type.first, entry.peak = model.peakRate(type.first, type.second);
  }
  return entry;
}

ProgramCosts::ProgramCosts(ArrayRef<CallSequence> sequences, const Target &target, int threads)
    : model(target, threads) {
  std::map<std::pair<CallKind, uint32_t>, CallCost> elsewhere; // than in `step`
  for (const CallSequence &sequence : sequences) {
    std::vector<CallCost> costs = costsOf(sequence, model);
    entries[sequence.entry] = costOf(sequence, costs);
    for (const CallCost &cost : costs) {
      if (cost.call->first) addRuns(calls[cost.call->first], cost);
      if (cost.call->kind != CallKind::Copy)
        addRuns((sequence.entry == "step" ? means : elsewhere)[{cost.call->kind, cost.call->number}], cost);
    }
  }
  means.insert(elsewhere.begin(), elsewhere.end());
}

const CallCost *ProgramCosts::meanOf(CallKind kind, uint32_t number) const {
  auto found = means.find({kind, number});
  return found == means.end() ? nullptr : &found->second;
}

const CallCost *ProgramCosts::costOf(Operation *first) const {
  auto found = calls.find(first);
  return found == calls.end() ? nullptr : &found->second;
}
