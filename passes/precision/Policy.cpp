//===- Policy.cpp - which ops gain from reduced precision -----------------===//

#include "passes/precision/Policy.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

/// The initial value of a dynamic loss scale: that of Micikevicius et al., 2018, and of PyTorch.
static constexpr double firstLossScale = 65536;

Arithmetic tessera::arithmeticOf(Operation *op) {
  if (isa<ContractOp, AttentionOp>(op)) return Arithmetic::Low;
  if (movesElements(op) || isa<ConstantOp, IndexOp, CastOp, ReorderOp, GatherOp, RepeatOp, YieldOp, func::ReturnOp>(op))
    return Arithmetic::Moves;
  return Arithmetic::Full;
}

unsigned tessera::lowOperands(Operation *op) { return isa<ContractOp>(op) ? 2 : isa<AttentionOp>(op) ? 3 : 0; }

bool tessera::movesElements(Operation *op) { return isReshape(op) || isa_and_nonnull<SliceOp, PadOp>(op); }

ComputeSettings ComputeSettings::of(ModuleOp module) {
  ComputeSettings result;
  auto settings = module->getAttrOfType<DictionaryAttr>(attrs::settings);
  auto compute = settings ? settings.getAs<DictionaryAttr>("compute") : DictionaryAttr();
  auto type = compute ? compute.getAs<StringAttr>("type") : StringAttr();
  if (!type) return result;
  Builder b(module.getContext());
  result.tf32 = type == "tf32";
  result.fp8 = type == "fp8";
  if (type == "bf16" || type == "fp8") result.low = b.getBF16Type();
  if (type == "fp16") result.low = b.getF16Type();
  auto weights = compute.getAs<StringAttr>("weights");
  result.hasLowPrecisionWeights = weights && weights == "bf16";
  if (auto scale = compute.getAs<FloatAttr>("scale")) {
    result.lossScale = scale.getValueAsDouble();
  } else if (type == "fp16") {
    result.lossScale = firstLossScale;
    result.isDynamic = true;
  }
  return result;
}
