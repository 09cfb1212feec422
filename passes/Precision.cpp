//===- Precision.cpp - the driver of `tsr-precision` ----------------------===//
//
// 1. Where gradients need it, scale the loss (precision/LossScaling.cpp). Under `weights = bf16`, hold the weights in
//    bf16 (precision/ReducedPrecisionWeights.cpp).
// 2. Decide which values have the low-precision type (precision/PrecisionPlan.h), by what ops are
//    (precision/Policy.h).
// 3. Change their types and cast where types would not match, parameters once a step (precision/Casts.cpp).
// 4. Under `compute(fp8)`, quantize the operands of the step's contractions with weight matrices (precision/Fp8Plan.h,
//    precision/Quantize.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/precision/Casts.h"
#include "passes/precision/LossScaling.h"
#include "passes/precision/Quantize.h"
#include "passes/precision/ReducedPrecisionWeights.h"
#include "passes/precision/Shadow.h"

namespace tessera {
#define GEN_PASS_DEF_PRECISIONPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
struct PrecisionPass : tessera::impl::PrecisionPassBase<PrecisionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ComputeSettings settings = ComputeSettings::of(module);
    if (settings.reducedType && module->hasAttr(attrs::audit)) addShadow(module);
    if (failed(scaleLoss(module, settings))) return signalPassFailure(); // 1.
    if (!settings.reducedType) return;
    if (settings.reducesWeights && failed(reduceWeightPrecision(module))) return signalPassFailure();
    for (func::FuncOp function : entryFunctions(module)) {
      if (function.getName() == "init") continue;        // parameters are f32
      PrecisionPlan plan(function);                      // 2.
      insertCasts(function, plan, settings.reducedType); // 3.
    }
    if (settings.fp8) quantizeProducts(module, settings); // 4.
  }
};
} // namespace
