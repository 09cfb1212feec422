//===- OpTimes.h - predicted times of ops that have no place yet ----------===//
//
// Before `schedule` no addresses are known, so neither is what is in a cache when an op begins. Operands and results
// are taken to be in the smallest cache that holds them twice: what little is read soon after it is written, what is
// large comes from memory.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_COST_OPTIMES_H
#define TESSERA_PASSES_COST_OPTIMES_H

#include "passes/cost/CostModel.h"
#include "passes/cost/RankLinks.h"

namespace tessera {

class OpTimes {
public:
  /// `threads`: of the program, on a CPU.
  OpTimes(const Target &target, int threads) : target(target), model(target, threads) {}

  /// Seconds of an op of a block after `tile`, of a repeat with all its iterations. Views take none; an exchange begins
  /// and ends at its `tsr.start`.
  double secondsOf(mlir::Operation *op) const;

private:
  double secondsOfCall(mlir::Operation *op) const;
  double secondsOfCall(mlir::Operation *op, KernelWork done) const;
  double secondsOfExchange(StartOp start) const;

  Target target;
  CostModel model;
  mutable std::optional<RankLinks> links; ///< of the program, once it has an exchange
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_OPTIMES_H
