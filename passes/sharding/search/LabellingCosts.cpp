//===- LabellingCosts.cpp - the time and the peak of a labelling ----------===//
//
// What is no sum over nodes and edges: the time of exchanges beside kernels, and the most bytes at a moment.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/search/ShardingCosts.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Exchanges beside kernels
//===----------------------------------------------------------------------===//

/// What an exchange that runs beside kernels takes of its time nevertheless, so that of shardings which are equally
/// fast the one with the least exchanges is found.
static constexpr double costOfHidden = 0.02;

double ShardingCosts::shareOfKernels(const ShardingNode &node) const {
  double share = 1;
  if (haveBeside())
    for (unsigned repeat = node.repeat; repeat != 0; repeat = graph.getRepeats()[repeat].around)
      share -= shares[repeat];
  return share;
}

double ShardingCosts::factorOf(const ShardingEdge &edge) const {
  double share = haveBeside() && edge.besideIn != 0 ? shares[edge.besideIn] + costOfHidden : 1;
  return share * runsOf(graph.getNodes()[edge.to]) * edge.runs;
}

ShardingCosts::Times ShardingCosts::timesOf(const Labelling &labelling) {
  Times times;
  if (haveBeside()) times.repeats.resize(graph.getRepeats().size());
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    OpTimes ofOps = getOpTimes()[i][labelling[i]];
    double runs = runsOf(i, labelling[i]);
    times.seconds += runs * (ofOps.kernels + ofOps.exchanges);
    if (!haveBeside()) continue;
    for (unsigned repeat = node.repeat; repeat != 0; repeat = graph.getRepeats()[repeat].around)
      times.repeats[repeat].kernels += runs * ofOps.kernels;
  }
  for (const ShardingEdge &edge : graph.getEdges()) {
    Form produced = edge.produced(labels[edge.from][labelling[edge.from]]);
    Form wanted = edge.wanted(labels[edge.to][labelling[edge.to]]);
    double seconds = secondsOfExchange(DividedShape(edge.shape, ranks, leastDivided), produced, wanted);
    seconds *= runsOf(graph.getNodes()[edge.to]) * edge.runs;
    if (haveBeside() && edge.besideIn != 0)
      times.repeats[edge.besideIn].beside += seconds, times.seconds += costOfHidden * seconds;
    else
      times.seconds += seconds;
  }
  for (const Times::OfRepeat &repeat : times.repeats) times.seconds += std::max(0.0, repeat.beside - repeat.kernels);
  return times;
}

//===----------------------------------------------------------------------===//
// Memory by moments
//===----------------------------------------------------------------------===//

void MomentWeights::give(unsigned moment, double share) {
  for (double &sum : before) sum *= 1 - share;
  for (size_t i = moment + 1; i < before.size(); ++i) before[i] += share;
}

ShardingCosts::Peak ShardingCosts::peakOf(const Labelling &labelling, bool withPlacesBeside) const {
  std::vector<double> changes(graph.countMoments() + 1);
  auto add = [&](double bytes, Life life) { changes[life.first] += bytes, changes[life.last + 1] -= bytes; };
  for (auto [node, label] : llvm::enumerate(labelling)) forEachAlive(node, label, add);
  for (const ShardingEdge &edge : graph.getEdges()) {
    unsigned from = labelling[edge.from], to = labelling[edge.to];
    Form produced = edge.produced(labels[edge.from][from]), wanted = edge.wanted(labels[edge.to][to]);
    double seconds = secondsOfExchange(DividedShape(edge.shape, ranks, leastDivided), produced, wanted);
    Life copied = withPlacesBeside && haveBeside() ? edge.copiedBeside : edge.copied;
    forEachAlive(edge, {produced, wanted, saysAgain(edge.from, from), saysAgain(edge.to, to), copied}, seconds, add);
  }
  Peak peak;
  double alive = 0;
  for (unsigned moment = 0; moment < graph.countMoments(); ++moment) {
    alive += changes[moment];
    if (alive > peak.bytes) peak = {moment, alive};
  }
  return peak;
}
