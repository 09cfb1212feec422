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

namespace {
/// Adds up the calls of an entry function.
class EntrySum {
public:
  explicit EntrySum(const CostModel &model) : model(model) {}

  void begin(const LoopBegin &loop) {
    open.push_back({entry.loops.size(), 0, 0, 0, {}});
    entry.loops.push_back({loop.axis, loop.iterations, static_cast<unsigned>(open.size() - 1), loop.pass, 0});
  }

  /// Of exchanges that run beside kernels as much is free as its kernels take.
  void end() {
    const OpenLoop &loop = open.back();
    double beside = std::min(loop.beside, loop.kernels);
    if (beside > 0) {
      entry.seconds -= beside, entry.besideSeconds += beside;
      entry.assumedSeconds -= beside * loop.assumed / loop.beside;
      for (auto [pass, seconds] : loop.passes) entry.passes[pass] -= beside * seconds / loop.beside;
      for (const OpenLoop &around : open) entry.loops[around.number].seconds -= beside;
    }
    open.pop_back();
  }

  void add(const CallCost &cost) {
    double seconds = cost.runs * cost.seconds;
    entry.calls += cost.runs;
    entry.seconds += seconds, entry.passes[cost.call->pass] += seconds;
    for (const OpenLoop &loop : open) entry.loops[loop.number].seconds += seconds;
    if (cost.call->kind == CallKind::Exchange) return addExchange(cost, seconds);
    for (OpenLoop &loop : open) loop.kernels += seconds;
    for (const MultiplyWork &gemm : cost.work.gemms)
      flops[{gemm.type, gemm.tf32}] += cost.runs * gemm.counted * flopsOf(gemm);
  }

  EntryCost finish() {
    double most = 0;
    for (const auto &[type, operations] : flops) {
      entry.flops += operations;
      if (operations > most)
        most = operations, entry.type = type.first, entry.peak = model.peakRate(type.first, type.second);
    }
    return std::move(entry);
  }

private:
  /// A loop whose end is not reached, and the seconds of what is in it.
  struct OpenLoop {
    size_t number; ///< in the entry's list
    double kernels, beside, assumed;
    std::map<StepPass, double> passes; ///< of `beside`
  };

  void addExchange(const CallCost &cost, double seconds) {
    auto links = model.assumedLinks(cost.work.exchange);
    entry.assumedLinks.insert(links.begin(), links.end());
    double assumed = links.empty() ? 0 : seconds;
    entry.assumedSeconds += assumed;
    if (!cost.call->isBeside || open.empty()) return;
    OpenLoop &loop = open.back();
    loop.beside += seconds, loop.assumed += assumed, loop.passes[cost.call->pass] += seconds;
  }

  const CostModel &model;
  EntryCost entry;
  SmallVector<OpenLoop> open;
  std::map<std::pair<ElementType, bool>, double> flops; ///< by type, and whether it is rounded to tf32
};
} // namespace

EntryCost ProgramCosts::costOf(const CallSequence &sequence, ArrayRef<CallCost> costs) const {
  EntrySum sum(model);
  for (const auto &step : sequence.steps) {
    if (const auto *loop = std::get_if<LoopBegin>(&step)) {
      sum.begin(*loop);
    } else if (std::holds_alternative<LoopEnd>(step)) {
      sum.end();
    } else {
      sum.add(costs.front());
      costs = costs.drop_front();
    }
  }
  return sum.finish();
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
