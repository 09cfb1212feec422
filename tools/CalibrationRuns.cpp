//===- CalibrationRuns.cpp - which programs `tessera calibrate` measures --===//

#include "tools/CalibrationModels.h"

using namespace tessera;

llvm::ArrayRef<CalibrationRun> tessera::calibrationRuns() {
  static const CalibrationRun runs[] = {
      // Matrices of middle size, with few rows for their columns.
      {"transformer.tsr", {}, {"f32", "bf16", "fp16", "fp8"}},
      // Many parameters and a large vocabulary: the optimizer and the logits are bound by memory. Long rows.
      {"transformer.tsr",
       {"gated=true", "heads=10", "head_size=64", "wide=1728", "words=9000", "rows=2", "length=448"},
       {"f32", "bf16"}},
      // Small matrices with many rows, whose values stay in caches; short heads; random numbers.
      {"transformer.tsr",
       {"heads=3", "head_size=32", "wide=384", "words=320", "rows=48", "length=112", "depth=3", "dropped=0.1"},
       {"f32", "bf16"}},
      {"perceptron.tsr", {}, {"f32", "bf16"}},
      // Functions.
      {"perceptron.tsr", {"hidden=600", "rows=1024", "every=true"}, {"f32", "bf16"}},
  };
  return runs;
}
