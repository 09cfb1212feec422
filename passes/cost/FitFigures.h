//===- FitFigures.h - figures of a device from measured times -------------===//
//
// Changes figures of a model of costs so that it predicts measured times. The logarithms of the figures are what is
// fitted, by damped least squares (Levenberg and Marquardt), with two additions:
//
//   - A figure stays near its first value, unless measurements say otherwise. So figures that little depends on keep a
//     sensible value, and of figures that only occur together none takes all.
//   - Each program may have been faster or slower as a whole, because the machine's clock or its other users changed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_FITFIGURES_H
#define TESSERA_PASSES_COST_FITFIGURES_H

#include "passes/cost/CostModel.h"

namespace tessera {

/// A call whose time was measured.
struct TimedCall {
  CallWork work;
  double seconds = 0;   ///< of one call
  double share = 0;     ///< of the step, all its calls together
  unsigned program = 0; ///< calls of one program were measured together
};

struct FitResult {
  std::vector<std::string> keys; ///< of the figures that were fitted
  std::vector<double> ratios;    ///< of each program: predicted time / measured time
  /// The median and the largest difference of a ratio from 1.
  double medianError = 0, largestError = 0;
};

/// `freedom`: how far figures may move from their first values, 1 for values that are estimates.
FitResult fitFigures(CostModel &model, llvm::ArrayRef<TimedCall> calls, double freedom);

} // namespace tessera

#endif // TESSERA_PASSES_COST_FITFIGURES_H
