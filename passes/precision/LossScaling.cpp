//===- LossScaling.cpp - gradients in the range of the low-precision type -===//
//
// f16 has five exponent bits: gradients below 6e-8 underflow to zero. So the gradient of the loss starts at a scale
// instead of 1, and the gradients of parameters are divided by it, in f32.
//
//   before   %one = tsr.seed
//            %g', %norm = tsr.clip(%g) limit %limit
//   after    %one = tsr.seed
//            %seed = %one * %loss_scale
//            %g', %norm = tsr.clip(%g) limit %limit unscale (1 / %loss_scale)
//
// A dynamic scale is state (Micikevicius et al., "Mixed Precision Training", 2018; the constants are theirs and
// PyTorch's). After 2000 steps with finite gradients it doubles. If a gradient is not finite, the scale was too large
// for f16: the update does not happen (`optimize` selects on the norm), the scale is halved, and the step is counted as
// skipped. Optimizers count the steps that happened.
//
//===----------------------------------------------------------------------===//

#include "passes/precision/LossScaling.h"
#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "passes/state/NewState.h"
#include <limits>

using namespace mlir;
using namespace tessera;

static constexpr int64_t stepsToGrow = 2000;
/// Bounds of the scale, for runs in which gradients are zero, or not finite, for a long time.
static constexpr double largestScale = 0x1p24, smallestScale = 0x1p-24;

/// The scale after a step, the steps since it changed, and all that were skipped.
static SmallVector<Value> nextScale(GraphBuilder &b, Value isFinite, Value scale, Value clean, Value skipped) {
  Type i32 = b.getI32Type(), element = tensorType(scale).getElementType();
  Value one = b.scalar(1, i32), none = b.scalar(0, i32), more = b.add(clean, one);
  Value grows = b.compare(Predicate::GE, more, b.scalar(stepsToGrow, i32));
  Value grown = b.min(b.mul(scale, 2), b.scalar(largestScale, element));
  Value halved = b.max(b.mul(scale, 0.5), b.scalar(smallestScale, element));
  return {b.select(isFinite, b.select(grows, grown, scale), halved),
          b.select(isFinite, b.select(grows, none, more), none), b.add(skipped, b.select(isFinite, none, one))};
}

/// Adds an output of the step function.
static void addOutput(func::FuncOp step, Value value, StringRef role) {
  Builder b(step.getContext());
  Operation *end = step.getBody().front().getTerminator();
  unsigned at = end->getNumOperands();
  end->insertOperands(at, value);
  auto tag = b.getDictionaryAttr(
      {b.getNamedAttr("name", b.getStringAttr(role)), b.getNamedAttr("role", b.getStringAttr(role))});
  SmallVector<DictionaryAttr> attributes;
  step.getAllResultAttrs(attributes);
  attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(attrs::output, tag)));
  step.setFunctionType(b.getFunctionType(step.getArgumentTypes(), end->getOperandTypes()));
  step.setAllResultAttrs(attributes);
}

LogicalResult tessera::scaleLoss(ModuleOp module, const ComputeSettings &settings) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!settings.lossScale || !step) return success();
  SmallVector<SeedOp> seeds;
  SmallVector<ClipOp> clips;
  SmallVector<UpdateOp> updates;
  step.walk([&](SeedOp op) { seeds.push_back(op); });
  step.walk([&](ClipOp op) { clips.push_back(op); });
  step.walk([&](UpdateOp op) { updates.push_back(op); });
  if (seeds.empty() || clips.size() != 1) return success();
  ClipOp clip = clips.front();
  NewState state(module);
  for (StringRef path : scaling::all)
    if (settings.isDynamic && state.find(path))
      return clip.emitOpError("a parameter or state is called `")
             << path << "`, which dynamic loss scaling needs for itself";

  GraphBuilder b(clip);
  NamedTensorType number = b.scalarType(b.getF32Type()), count = b.scalarType(b.getI32Type());
  Value scale, clean, skipped;
  if (settings.isDynamic) {
    scale = state.add(scaling::scale, "counter", number, ArrayAttr(), *settings.lossScale, clip.getLoc());
    clean = state.add(scaling::cleanSteps, "counter", count, ArrayAttr(), 0, clip.getLoc());
    skipped = state.add(scaling::skipped, "counter", count, ArrayAttr(), 0, clip.getLoc());
  } else {
    GraphBuilder first(&step.getBody().front().front());
    scale = first.constant(*settings.lossScale, number);
  }
  for (SeedOp seed : seeds) {
    Value factor = importInto(seed->getBlock(), scale);
    if (!factor) return seed.emitOpError("expected in the body of `step` or of a repeat");
    GraphBuilder after(seed);
    after.setInsertionPointAfter(seed);
    Value scaled = after.mul(seed.getResult(), after.cast(factor, seed.getType().getElementType()));
    seed.getResult().replaceAllUsesExcept(scaled, scaled.getDefiningOp());
  }
  Type element = clip.getNorm().getType().getElementType();
  clip.getUnscaleMutable().assign(b.div(b.scalar(1, element), b.cast(scale, element)));
  if (!settings.isDynamic) return success();

  b.setInsertionPointAfter(clip);
  Value infinity = b.scalar(std::numeric_limits<double>::infinity(), element);
  Value isFinite = b.compare(Predicate::LT, clip.getNorm(), infinity);
  SmallVector<Value> next = nextScale(b, isFinite, scale, clean, skipped);
  state.setResults(next);
  for (UpdateOp update : updates) {
    GraphBuilder before(update);
    update.getStepMutable().assign(before.sub(update.getStep(), skipped));
  }
  state.finish();
  addOutput(step, next[0], "loss_scale");
  addOutput(step, next[2], "skipped");
  return success();
}
