//===- TimeBound.h - the least time of any plan within a budget -----------===//
//
// At each moment of the step (CertainMoments) a plan needs room for what is live in any plan, for what its policies
// save in stacks that are full there, and for the results of units of blocks that it does not recompute. The least time
// for that is a linear program with one row: a mixture of policies for each stack, a part of each unit. Its value is
// less than the time of any plan whose live bytes are within the budget, and so is the largest one of all moments.
//
// While the first iteration of a backward repeat runs, the policy of that layer is one, not a mixture: the best one is
// tried. Segments count as one more way to divide a stack, for each of their lengths.
//
// Plans: all sets of units in each layer, and in each block; segments of equal length, with layers that are left over.
// The order of ops is that before `schedule`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_TIMEBOUND_H
#define TESSERA_PASSES_REMATERIALIZE_TIMEBOUND_H

#include "passes/rematerialize/Pins.h"
#include "passes/rematerialize/TimeCurves.h"

namespace tessera {

class TimeBound {
public:
  TimeBound(mlir::func::FuncOp step, PinPatterns &pins, const OpTimes &times);

  /// Seconds that a plan takes longer than none, at least, if at most `bytes` are live at a time, without state;
  /// infinite if there is no such plan.
  double secondsWithin(int64_t bytes) const;

private:
  /// A layer that the backward repeat computes, and the rest of its stack.
  struct Alternative {
    TimePoint layer;
    const TimeCurve *rest; ///< null: there is none
  };
  struct Row {
    double bytes = 0;
    std::vector<const TimeCurve *> curves;
    std::vector<Alternative> alternatives; ///< one of which is needed; none: `curves` are all
  };
  double secondsOf(const Row &row, double bytes) const;
  void addRows(const CertainMoment &moment, llvm::ArrayRef<const TimeCurve *> stacks,
               llvm::ArrayRef<std::vector<Row>> running, std::vector<std::vector<TimePoint>> ofBlocks);
  const TimeCurve *keep(std::vector<TimePoint> points);

  double fastest = 0; ///< seconds of the fastest plan
  std::vector<Row> rows;
  std::vector<std::unique_ptr<TimeCurve>> kept;
};

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_TIMEBOUND_H
