//===- TimeCurves.h - bytes and seconds of policies -----------------------===//
//
// A part of TimeBound: what policies of a stack and of a block save at a moment, and what they take.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_TIMECURVES_H
#define TESSERA_PASSES_REMATERIALIZE_TIMECURVES_H

#include "passes/rematerialize/BlockUnits.h"
#include "passes/rematerialize/CertainMoments.h"
#include "passes/rematerialize/Policies.h"

namespace tessera {

/// Bytes at a moment, and seconds beyond those of the fastest plan.
struct TimePoint {
  double bytes = 0, seconds = 0;
};
/// Points on a convex curve, from the fastest one on: mixtures of neighbours count too.
using TimeCurve = std::vector<TimePoint>;

/// The lower convex hull.
TimeCurve curveOf(std::vector<TimePoint> points);
TimeCurve scaled(const TimeCurve &curve, double count);

/// The ways to divide the layers of a pair.
class StackCurves {
public:
  StackCurves(LayerPair pair, Pins pins, const OpTimes &times);

  /// Of one layer.
  const TimeCurve &getLayer() const { return layer; }
  double fastestSeconds() const { return static_cast<double>(layers) * fastest * runs; }
  /// All points at a moment of the backward body: of the layer that runs, and of all layers with one policy.
  std::vector<TimePoint> layerAt(const BackwardMoment &moment) const;
  std::vector<TimePoint> uniformAt(const BackwardMoment &moment) const;
  /// Of all layers, before the backward pass.
  std::vector<TimePoint> whole() const;

  /// Segments of `each` layers: what is saved beside one segment that runs, and what all of them take longer.
  struct Segments {
    int64_t each, rest;
    double inputBytes, seconds;
  };
  std::vector<Segments> segments() const;

  LayerPair pair;
  int64_t layers;

private:
  /// Bytes and seconds of policies of `count` equal layers, in one of which values of `held` are for free.
  std::vector<TimePoint> points(const llvm::DenseSet<mlir::Value> &held, int64_t count = 1) const;
  std::vector<TimePoint> relaxed(llvm::function_ref<int64_t(mlir::Value)> bytesOf) const;

  Pins pins;
  const OpTimes &times;
  double runs;        ///< in a step
  double fastest = 0; ///< seconds of a layer, with the fastest policy
  double inputBytes = 0, layerSeconds = 0;
  TimeCurve layer;
};

/// What units of a block have live at a moment, and the time that recomputing some takes.
std::vector<TimePoint> pointsOf(const CertainMoment::OfBlock &own, const BlockUnits &block, const OpTimes &times);

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_TIMECURVES_H
