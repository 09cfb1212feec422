//===- ElementOps.cpp - ops of a tiled kernel that are computed together ----===//

#include "codegen/cuda/tile/ElementOps.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

static Type elementOf(Value value) { return tensorType(value).getElementType(); }

static Value withoutIdentities(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<traits::PointwiseIdentity>()) break;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<double> constantOf(Value value) {
  auto constant = withoutIdentities(value).getDefiningOp<ConstantOp>();
  return constant && isa<FloatType>(elementOf(value)) ? std::optional(constant.getNumber()) : std::nullopt;
}

/// Takes `mask ? x : -inf` apart.
static void takeMask(TileExponential &exponential) {
  auto select = exponential.x.getDefiningOp<SelectOp>();
  if (!select) return;
  for (unsigned side : {1u, 2u}) {
    if (constantOf(select->getOperand(3 - side)) != -INFINITY) continue;
    exponential.mask = select->getOperand(0);
    exponential.selectsX = side == 1;
    exponential.x = withoutIdentities(select->getOperand(side));
    return;
  }
}

/// Takes `scale · x` apart. Products with a positive scale are in the order of x, so the largest is that of the largest
/// x, to the bit.
static void takeScale(TileExponential &exponential) {
  auto product = exponential.x.getDefiningOp<MulOp>();
  if (!product) return;
  for (unsigned side : {0u, 1u}) {
    std::optional<double> scale = constantOf(product->getOperand(side));
    if (!scale || !(static_cast<float>(*scale) > 0 && std::isfinite(static_cast<float>(*scale)))) continue;
    exponential.scale = *scale;
    exponential.x = withoutIdentities(product->getOperand(1 - side));
    return;
  }
}

static std::optional<TileExponential> exponentialOf(Value item, function_ref<bool(Value)> isRowValue) {
  auto exp = item.getDefiningOp<ExpOp>();
  auto difference = exp ? withoutIdentities(exp.getX()).getDefiningOp<SubOp>() : SubOp();
  if (!difference || !elementOf(item).isF32() || !isRowValue(difference.getRhs())) return std::nullopt;
  TileExponential result{withoutIdentities(difference.getLhs()), difference.getRhs(), {}};
  takeMask(result);
  takeScale(result);
  return result;
}

/// What a conversion from a 16-bit type to f32 converts back: an f32 value, or an argument of the kernel.
static Value roundedBy(Value item) {
  auto widening = item.getDefiningOp<CastOp>();
  if (!widening || !elementOf(item).isF32()) return {};
  Value narrow = withoutIdentities(widening->getOperand(0));
  if (!elementOf(narrow).isBF16() && !elementOf(narrow).isF16()) return {};
  if (isa<BlockArgument>(narrow)) return narrow;
  auto narrowing = narrow.getDefiningOp<CastOp>();
  return narrowing && elementOf(narrowing->getOperand(0)).isF32() ? narrowing->getOperand(0) : Value();
}

ElementOps ElementOps::of(const KernelPlan &plan, const Band &band, const MatrixAxes &axes,
                          function_ref<bool(Value)> isRowValue) {
  ElementOps result;
  for (Value item : plan.items) {
    if (auto exponential = exponentialOf(item, isRowValue)) result.exponentials[item] = *exponential;
    if (Value rounded = roundedBy(item)) result.roundings[item] = rounded;
    auto compare = item.getDefiningOp<CompareOp>();
    if (std::optional<bool> inside = compare ? valueInside(band, compare, axes) : std::nullopt)
      result.insideBand[item] = *inside;
  }
  return result;
}

SmallVector<Value> ElementOps::argumentsOf(const TileExponential &exponential) {
  SmallVector<Value> values{exponential.x};
  if (exponential.mask) values.push_back(exponential.mask);
  return values;
}

SmallVector<Value> ElementOps::operandsOf(Value item) const {
  if (auto it = exponentials.find(item); it != exponentials.end()) {
    SmallVector<Value> values = argumentsOf(it->second);
    values.push_back(it->second.down);
    return values;
  }
  Operation *op = item.getDefiningOp();
  if (!op) return {};
  if (Value rounded = roundings.lookup(item)) return {rounded};
  return SmallVector<Value>(op->getOperands());
}
