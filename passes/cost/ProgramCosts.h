//===- ProgramCosts.h - the predicted times of a program ------------------===//

#ifndef TESSERA_PASSES_COST_PROGRAMCOSTS_H
#define TESSERA_PASSES_COST_PROGRAMCOSTS_H

#include "passes/cost/CallCosts.h"
#include <map>

namespace tessera {

/// The predicted time of a repeat: of a stack of layers, or of micro-batches.
struct LoopCost {
  std::string axis;
  int64_t iterations = 1; ///< of one run of the repeat
  unsigned depth = 0;     ///< how many repeats are around it
  StepPass pass = StepPass::Forward;
  double seconds = 0; ///< of all its runs and their iterations
};

/// The predicted time of an entry function.
struct EntryCost {
  double seconds = 0;
  double calls = 0;
  std::map<StepPass, double> passes;
  std::vector<LoopCost> loops; ///< in program order
  double flops = 0;            ///< of contractions
  /// What contractions reach at most with operands of the type that most of their operations have.
  ElementType type = ElementType::F32;
  double peak = 0;
  double besideSeconds =
      0; ///< of exchanges that run beside kernels: they are not in `seconds`, nor in the times of parts
  /// Of exchanges over links that the description does not say the bandwidth of, and the classes of these.
  double assumedSeconds = 0;
  std::set<std::string> assumedLinks;
};

/// The predicted times of all entry functions, and of each call in them.
class ProgramCosts {
public:
  /// The sequences must outlive this.
  ProgramCosts(llvm::ArrayRef<CallSequence> sequences, const Target &target, int threads);

  const CostModel &getModel() const { return model; }
  const std::map<std::string, EntryCost> &getEntries() const { return entries; }
  /// The mean call of a kernel or a contraction in `step`; if `step` does not call it, in the entry functions that do.
  /// Null if none does.
  const CallCost *meanOf(CallKind kind, uint32_t number) const;
  /// The call that computes an op, and the ops that run with it. Null if there is none.
  const CallCost *costOf(mlir::Operation *first) const;

private:
  EntryCost costOf(const CallSequence &sequence, llvm::ArrayRef<CallCost> costs) const;

  CostModel model;
  std::map<std::string, EntryCost> entries;
  std::map<std::pair<CallKind, uint32_t>, CallCost> means;
  llvm::DenseMap<mlir::Operation *, CallCost> calls;
};

} // namespace tessera

#endif // TESSERA_PASSES_COST_PROGRAMCOSTS_H
