//===- Precision.cpp - low types where they pay --------------------------------===//
//
// Under `compute(bf16)` contractions multiply bf16 and add up in f32, and activations lie in memory as bf16. All other arithmetic is
// that of f32, in registers: in the same kernel, a number is rounded where it is stored and nowhere else.
//
//   before   %h = tsr.contract %x, %w over ["in"]               x, w, h: f32
//            %g = tsr.tanh %h
//            %y = tsr.contract %g, %v over ["out"]
//   after    %x.l = tsr.cast %x to bf16                         parameters: once a step, in front of all repeats
//            %w.l = tsr.cast %w to bf16
//            %h.l = tsr.contract %x.l, %w.l over ["in"]         bf16, added up in f32
//            %h = tsr.cast %h.l to f32
//            %g = tsr.tanh %h
//            %g.l = tsr.cast %g to bf16                         the next contraction reads it from memory
//            %y.l = tsr.contract %g.l, %v.l over ["out"]
//
//   1. Where gradients need it, scale the loss (precision/LossScaling.cpp). Where weights are to be bf16, make them so
//      (precision/LowWeights.cpp).
//   2. Decide which values are low (precision/Plan.h), from what ops are (precision/Policy.h).
//   3. Give them the low type and cast where types would not meet, parameters once a step (precision/Casts.cpp).
//   4. Under `compute(fp8)` all this is done with bf16. Then the step's contractions with matrices of weights get operands of eight bits
//      (precision/Fp8Plan.h, precision/Quantize.cpp).
//
// For an audit the module has `tsr.audit`: the step is there once more, in f32, as the entry function `shadow` (precision/Shadow.h).
//
// Ops with the attribute `tsr.keep` stay in f32: what the user names in `compute(bf16, f32 = …)` or writes as `f32(…)`, with their
// adjoints.
//
// Before: `differentiate`, while `tsr.clip` and `tsr.update` still say which gradients are parameters'. Afterwards every op
// has the types that the policy gives it (precision/CheckPrecision.h), and every rounding is a cast or a contraction's.
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
    if (settings.low && module->hasAttr(attrs::audit)) addShadow(module);
    if (failed(scaleLoss(module, settings))) return signalPassFailure(); // 1.
    if (!settings.low) return;
    if (settings.hasLowWeights && failed(reduceWeightPrecision(module))) return signalPassFailure();
    for (func::FuncOp function : entryFunctions(module)) {
      if (function.getName() == "init") continue; // parameters are f32
      PrecisionPlan plan(function);               // 2.
      insertCasts(function, plan, settings.low);  // 3.
    }
    if (settings.fp8) quantizeProducts(module, settings); // 4.
  }
};
} // namespace
