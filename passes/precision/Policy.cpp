//===- Policy.cpp - which ops gain from reduced precision -----------------===//

#include "passes/precision/Policy.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

/// The initial value of a dynamic loss scale: that of Micikevicius et al., 2018, and of PyTorch.
static constexpr double firstLossScale = 65536;

Arithmetic tessera::arithmeticOf(Operation *op) {
  if (isa<MultiplyOpInterface>(op)) return Arithmetic::Reduced;
  if (op->hasTrait<traits::HasNoArithmetic>() || isa<func::ReturnOp>(op)) return Arithmetic::None;
  return Arithmetic::Full;
}

unsigned tessera::numFactors(Operation *op) {
  auto multiply = dyn_cast<MultiplyOpInterface>(op);
  return multiply ? multiply.getNumFactors() : 0;
}

bool tessera::movesElements(Operation *op) { return op && op->hasTrait<traits::MovesElements>(); }

ComputeSettings ComputeSettings::of(ModuleOp module) {
  ComputeSettings result;
  auto settings = module->getAttrOfType<DictionaryAttr>(attrs::settings);
  auto compute = settings ? settings.getAs<DictionaryAttr>("compute") : DictionaryAttr();
  auto type = compute ? compute.getAs<StringAttr>("type") : StringAttr();
  if (!type) return result;
  Builder b(module.getContext());
  result.tf32 = type == "tf32";
  result.fp8 = type == "fp8";
  if (type == "bf16" || type == "fp8") result.reducedType = b.getBF16Type();
  if (type == "fp16") result.reducedType = b.getF16Type();
  auto weights = compute.getAs<StringAttr>("weights");
  result.reducesWeights = weights && weights == "bf16";
  if (auto scale = compute.getAs<FloatAttr>("scale")) {
    result.lossScale = scale.getValueAsDouble();
  } else if (type == "fp16") {
    result.lossScale = firstLossScale;
    result.isDynamic = true;
  }
  return result;
}
