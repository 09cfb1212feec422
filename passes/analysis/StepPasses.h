//===- StepPasses.h - the pass of a training step of values and readers ---===//
//
// `differentiate` and `optimize` mark what they build (`tsr.pass` in docs/ir.md), and ops that replace others take over
// their marks. What remains follows from the dataflow.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_ANALYSIS_STEPPASSES_H
#define TESSERA_PASSES_ANALYSIS_STEPPASSES_H

#include "ir/dialect/Attributes.h"
#include "ir/dialect/Tsr.h"

namespace tessera {

/// A set of passes of a step.
class StepPassSet {
public:
  void insert(StepPass pass) { bits |= bit(pass); }
  void insert(StepPassSet other) { bits |= other.bits; }
  bool contains(StepPass pass) const { return bits & bit(pass); }
  bool empty() const { return bits == 0; }
  /// The first of the passes; undefined if there is none.
  StepPass first() const;

private:
  static unsigned bit(StepPass pass) { return 1u << static_cast<unsigned>(pass); }
  unsigned bits = 0;
};

/// Marks ops of `step` and `shadow` that have no mark yet:
///
///   1. What reads a result of a later pass belongs to that pass, and so does what is in a repeat of it. The repeat of
///      micro-batches has no mark, and ops of both passes.
///   2. What reads nothing, as the zeros that a sum starts with, belongs to the first pass that reads it.
///   3. So does what depends on counters and scales alone, as a learning rate. If no op reads it, it belongs to the
///      optimizer.
void inheritStepPasses(mlir::ModuleOp module);

/// The pass that computes a value: of the result of a kernel or a repeat, that of the op which computes it inside.
StepPass stepPassOf(mlir::Value value);

/// The passes that read a value, also through views, joins and repeats. A kernel that computes for several passes reads
/// an operand in the passes of the results that depend on it.
StepPassSet readingPasses(mlir::Value value);

/// Whether an op of a kernel's region carries a mark: the kernel computes for several passes.
bool hasSeveralStepPasses(KernelOp kernel);

} // namespace tessera

#endif // TESSERA_PASSES_ANALYSIS_STEPPASSES_H
