//===- TimeCurves.cpp - bytes and seconds of policies ---------------------===//

#include "passes/rematerialize/TimeCurves.h"
#include "passes/rematerialize/Frontier.h"
#include "passes/rematerialize/LiveValues.h"

using namespace mlir;
using namespace tessera;

using Point = TimePoint;
using Curve = TimeCurve;

/// Of a block, partial choices that are considered at a time.
static constexpr size_t mostBlockLabels = 256;

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

/// Seconds for a byte less, from `a` to `b`.
static double price(const Point &a, const Point &b) { return (b.seconds - a.seconds) / (a.bytes - b.bytes); }

/// The lower convex hull, from the fastest point to the one with the least bytes.
Curve tessera::curveOf(std::vector<Point> points) {
  llvm::sort(points, [](const Point &a, const Point &b) {
    return std::pair(a.seconds, a.bytes) < std::pair(b.seconds, b.bytes);
  });
  Curve hull;
  for (const Point &point : points) {
    if (!hull.empty() && point.bytes >= hull.back().bytes) continue;
    while (hull.size() > 1 && price(hull[hull.size() - 2], hull.back()) >= price(hull.back(), point)) hull.pop_back();
    hull.push_back(point);
  }
  return hull;
}

Curve tessera::scaled(const Curve &curve, double count) {
  Curve result;
  for (const Point &point : curve) result.push_back({count * point.bytes, count * point.seconds});
  return result;
}

//===----------------------------------------------------------------------===//
// Stacks
//===----------------------------------------------------------------------===//

StackCurves::StackCurves(LayerPair of, Pins pinned, const OpTimes &times)
    : pair(std::move(of)), pins(std::move(pinned)), times(times) {
  RepeatOp forward = pair.forward;
  layers = forward.getAxis().getSize();
  runs = static_cast<double>(timesRun(forward->getBlock()));
  layerSeconds = times.secondsOf(forward) / static_cast<double>(layers);
  llvm::BitVector all(pair.units.size(), true);
  for (Value value : pair.savedWith(all))
    if (llvm::is_contained(forward.getCarriedArgs(), value)) inputBytes += static_cast<double>(elementBytes(value));
  std::vector<Point> found = points({});
  fastest = llvm::min_element(found, [](auto &a, auto &b) { return a.seconds < b.seconds; })->seconds;
  for (Point &point : found) point.seconds = (point.seconds - fastest) * runs;
  layer = curveOf(std::move(found));
}

std::vector<Point> StackCurves::points(const llvm::DenseSet<Value> &held, int64_t count) const {
  bool isExact = true;
  auto bytesOf = [&](Value value) { return (count - held.contains(value)) * leastStackedBytes(pair, value); };
  std::vector<Point> found;
  PolicyProblem problem{pair.units, pair.needed.getArrayRef(), pins, creditsOf(pair, times), bytesOf};
  problem.isExact = &isExact;
  for (const Policy &policy : findPolicies(problem, times))
    found.push_back({static_cast<double>(policy.bytes), policy.seconds});
  if (!isExact) found = relaxed(bytesOf);
  for (Point &point : found) point.seconds *= static_cast<double>(count);
  return found;
}

/// Without regard to what units need: a value that is not saved costs the time of its unit at least.
std::vector<Point> StackCurves::relaxed(llvm::function_ref<int64_t(Value)> bytesOf) const {
  std::vector<double> seconds;
  for (const RecomputeUnit &unit : pair.units) seconds.push_back(secondsOf(unit, times));
  double credits = 0;
  for (const Credit &credit : creditsOf(pair, times)) {
    credits += credit.seconds;
    for (unsigned unit : credit.units.set_bits()) seconds[unit] -= credit.seconds;
  }
  std::vector<double> bytes(pair.units.size(), 0);
  Point now{0, -credits};
  for (Value value : pair.needed) {
    int unit = pair.unitOf(value);
    auto size = static_cast<double>(bytesOf(value));
    now.bytes += size;
    if (unit >= 0 && !pins.saved[unit]) bytes[unit] += size;
  }
  std::vector<unsigned> order;
  for (unsigned unit = 0; unit < bytes.size(); ++unit)
    if (bytes[unit] > 0) order.push_back(unit), seconds[unit] = std::max(0.0, seconds[unit]);
  llvm::sort(order, [&](unsigned a, unsigned b) { return seconds[a] / bytes[a] < seconds[b] / bytes[b]; });
  std::vector<Point> found{now};
  for (unsigned unit : order) {
    now = {now.bytes - bytes[unit], now.seconds + seconds[unit]};
    found.push_back(now);
  }
  return found;
}

std::vector<Point> StackCurves::layerAt(const BackwardMoment &moment) const {
  std::vector<Point> found = points(moment.held);
  for (Point &point : found)
    point = {point.bytes + static_cast<double>(moment.bytes), (point.seconds - fastest) * runs};
  return found;
}

std::vector<Point> StackCurves::uniformAt(const BackwardMoment &moment) const {
  std::vector<Point> found = points(moment.held, layers);
  for (Point &point : found)
    point = {point.bytes + static_cast<double>(moment.bytes),
             (point.seconds - static_cast<double>(layers) * fastest) * runs};
  return found;
}

std::vector<StackCurves::Segments> StackCurves::segments() const {
  std::vector<Segments> found;
  if (pins.saved.any()) return found; // segments save no values of layers
  for (int64_t each = 2; each <= layers / 2; ++each) {
    int64_t count = layers / each;
    found.push_back({each, layers % each, static_cast<double>(count - 1) * inputBytes,
                     static_cast<double>(count * each) * layerSeconds * runs});
  }
  return found;
}

std::vector<Point> StackCurves::whole() const {
  std::vector<Point> found = scaled(layer, static_cast<double>(layers));
  for (const Segments &way : segments())
    for (const Point &point : scaled(layer, static_cast<double>(way.rest)))
      found.push_back({point.bytes + way.inputBytes + inputBytes, point.seconds + way.seconds});
  return found;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

std::vector<Point> tessera::pointsOf(const CertainMoment::OfBlock &own, const BlockUnits &block, const OpTimes &times) {
  auto runs = static_cast<double>(timesRun(&block.block));
  bool isExact = true;
  PolicyProblem problem{block.units, own.live.getArrayRef(), Pins{own.computed, llvm::BitVector(block.units.size())}};
  problem.bytesOf = [&](Value value) { return own.free.contains(value) ? 0 : elementBytes(value); };
  problem.allowsUnwanted = true, problem.isExact = &isExact, problem.mostLabels = mostBlockLabels;
  std::vector<Point> points;
  for (const Policy &policy : findPolicies(problem, times))
    points.push_back({static_cast<double>(policy.bytes), policy.seconds * runs});
  if (isExact) return points;
  // Without what clones read: a value that is not live costs the time of its unit.
  std::vector<Point> units;
  Point now;
  for (const RecomputeUnit &unit : block.units) {
    units.push_back({0, secondsOf(unit, times) * runs});
    for (Operation *op : unit.ops)
      for (Value result : op->getResults())
        if (own.live.contains(result)) units.back().bytes += static_cast<double>(elementBytes(result));
    now.bytes += units.back().bytes;
  }
  llvm::sort(units, [](const Point &a, const Point &b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
  points.assign(1, now);
  for (const Point &unit : units) {
    if (unit.bytes == 0) continue;
    now = {now.bytes - unit.bytes, now.seconds + unit.seconds};
    points.push_back(now);
  }
  return points;
}
