//===- TimeBound.cpp - the least time of any plan within a budget ---------===//

#include "passes/rematerialize/TimeBound.h"
#include "passes/rematerialize/BlockUnits.h"
#include "passes/rematerialize/Frontier.h"
#include "passes/rematerialize/LiveValues.h"
#include <limits>

using namespace mlir;
using namespace tessera;

/// Moments that have rows, beside those of backward repeats.
static constexpr size_t mostMoments = 48;

using Point = TimePoint;
using Curve = TimeCurve;

const Curve *TimeBound::keep(std::vector<Point> points) {
  kept.push_back(std::make_unique<Curve>(curveOf(std::move(points))));
  return kept.back().get();
}

/// Of the moments those with most bytes: any choice of them gives a bound.
static std::vector<CertainMoment> fullestMoments(std::vector<CertainMoment> moments, ArrayRef<const Curve *> stacks) {
  auto bytesAt = [&](const CertainMoment &moment) {
    double bytes = static_cast<double>(moment.bytes);
    for (unsigned stack : moment.stacks) bytes += stacks[stack]->front().bytes;
    for (const CertainMoment::OfBlock &own : moment.blocks)
      for (Value value : own.live) bytes += static_cast<double>(elementBytes(value));
    return bytes;
  };
  std::vector<std::pair<double, size_t>> order; // those in backward repeats first: they have rows of their own
  for (auto [i, moment] : llvm::enumerate(moments)) order.push_back({moment.running >= 0 ? 0 : -bytesAt(moment), i});
  llvm::stable_sort(order, [&](auto &a, auto &b) {
    bool isRunning = moments[a.second].running >= 0, isOther = moments[b.second].running >= 0;
    return isRunning != isOther ? isRunning : a.first < b.first;
  });
  std::vector<CertainMoment> fullest;
  for (auto [bytes, i] : order)
    if (moments[i].running >= 0 || fullest.size() < mostMoments) fullest.push_back(std::move(moments[i]));
  return fullest;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

TimeBound::TimeBound(func::FuncOp step, PinPatterns &pins, const OpTimes &times) {
  std::vector<const Curve *> wholes;
  std::vector<std::vector<Row>> running; // for each pair
  for (auto [forward, backward] : allLayerPairs(step)) {
    LayerPair pair(forward, backward);
    Pins pinned = pins.pinsOf(pair);
    StackCurves stack(std::move(pair), std::move(pinned), times);
    fastest += stack.fastestSeconds();
    wholes.push_back(keep(stack.whole()));
    auto layersBeside = [&](int64_t count) { return keep(scaled(stack.getLayer(), static_cast<double>(count))); };
    const Curve *others = layersBeside(stack.layers - 1);
    std::vector<const Curve *> ofSegment;
    for (const StackCurves::Segments &way : stack.segments()) ofSegment.push_back(layersBeside(way.each - 1));
    auto joined = static_cast<double>(joinedBytes(stack.pair));
    running.emplace_back();
    for (const BackwardMoment &moment : backwardMoments(stack.pair)) {
      Row row;
      for (const Point &point : stack.uniformAt(moment)) row.alternatives.push_back({point, nullptr});
      for (const Point &point : stack.layerAt(moment)) {
        row.alternatives.push_back({{point.bytes + joined, point.seconds}, others});
        // The last segment that runs, beside the inputs of the others.
        for (auto [way, rest] : llvm::zip(stack.segments(), ofSegment))
          row.alternatives.push_back({{point.bytes + way.inputBytes, point.seconds + way.seconds}, rest});
      }
      llvm::stable_sort(row.alternatives, [](auto &a, auto &b) { return a.layer.seconds < b.layer.seconds; });
      running.back().push_back(std::move(row));
    }
  }
  std::vector<BlockUnits> blocks;
  for (Block *block : stepBlocks(step)) blocks.emplace_back(*block);
  for (const CertainMoment &moment : fullestMoments(certainMoments(step), wholes)) {
    std::vector<std::vector<Point>> ofBlocks;
    for (const CertainMoment::OfBlock &own : moment.blocks) ofBlocks.push_back(pointsOf(own, blocks[own.block], times));
    addRows(moment, wholes, running, std::move(ofBlocks));
  }
}

void TimeBound::addRows(const CertainMoment &moment, ArrayRef<const Curve *> stacks, ArrayRef<std::vector<Row>> running,
                        std::vector<std::vector<Point>> ofBlocks) {
  Row row;
  row.bytes = static_cast<double>(moment.bytes);
  if (moment.running < 0 && !ofBlocks.empty()) { // one choice, not a mixture
    for (const Point &point : ofBlocks.back()) row.alternatives.push_back({point, nullptr});
    llvm::stable_sort(row.alternatives, [](auto &a, auto &b) { return a.layer.seconds < b.layer.seconds; });
    ofBlocks.pop_back();
  }
  for (std::vector<Point> &points : ofBlocks) row.curves.push_back(keep(std::move(points)));
  for (unsigned stack : moment.stacks)
    if (static_cast<int>(stack) != moment.running) row.curves.push_back(stacks[stack]);
  if (moment.running < 0) {
    bool isKnown = llvm::any_of(rows, [&](const Row &other) {
      return row.alternatives.empty() && other.alternatives.empty() && other.bytes >= row.bytes &&
             other.curves == row.curves;
    });
    if (!isKnown) rows.push_back(std::move(row));
    return;
  }
  for (Row inside : running[moment.running]) {
    inside.bytes += row.bytes;
    inside.curves = row.curves;
    rows.push_back(std::move(inside));
  }
}

//===----------------------------------------------------------------------===//
// The least time
//===----------------------------------------------------------------------===//

namespace {
/// Steps of several curves, the cheapest first.
class Mixture {
public:
  void add(const Curve &curve) {
    bytes += curve.front().bytes;
    for (size_t i = 1; i < curve.size(); ++i)
      steps.push_back({curve[i - 1].bytes - curve[i].bytes, curve[i].seconds - curve[i - 1].seconds});
  }

  /// Seconds until the curves take at most `room` bytes.
  double secondsWithin(double room) {
    llvm::sort(steps, [](const Point &a, const Point &b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
    double excess = bytes - room, seconds = 0;
    for (const Point &step : steps) {
      if (excess <= 0) break;
      double part = std::min(1.0, excess / step.bytes);
      excess -= part * step.bytes, seconds += part * step.seconds;
    }
    return excess > 1e-3 ? std::numeric_limits<double>::infinity() : seconds;
  }

private:
  std::vector<Point> steps; ///< bytes less, seconds more
  double bytes = 0;
};
} // namespace

double TimeBound::secondsOf(const Row &row, double bytes) const {
  Mixture mixture;
  for (const Curve *curve : row.curves) mixture.add(*curve);
  if (row.alternatives.empty()) return mixture.secondsWithin(bytes - row.bytes);
  double best = std::numeric_limits<double>::infinity();
  for (const Alternative &alternative : row.alternatives) {
    if (alternative.layer.seconds >= best) break; // in the order of seconds
    Mixture all = mixture;
    if (alternative.rest) all.add(*alternative.rest);
    double room = bytes - row.bytes - alternative.layer.bytes;
    best = std::min(best, alternative.layer.seconds + all.secondsWithin(room));
  }
  return best;
}

double TimeBound::secondsWithin(int64_t bytes) const {
  double most = 0;
  for (const Row &row : rows) most = std::max(most, secondsOf(row, static_cast<double>(bytes)));
  return fastest + most;
}
