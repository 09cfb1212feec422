//===- OnlineSoftmax.cpp - sums weighted by a softmax, in one sweep ---------===//

#include "passes/kernel/OnlineSoftmax.h"

using namespace mlir;
using namespace tessera;

namespace {
/// Finds values that are the exponential of a softmax times factors.
class MultiplesOfExponential {
public:
  MultiplesOfExponential(const KernelPlan &plan, const OnlineSoftmax &softmax) : plan(plan), softmax(softmax) {
    dependent.insert(softmax.max);
    dependent.insert(softmax.sum);
    for (Value item : plan.items)
      if (Operation *op = item.getDefiningOp())
        if (llvm::any_of(op->getOperands(), [&](Value operand) { return dependent.contains(operand); }))
          dependent.insert(item);
  }

  /// Whether `value` is the exponential times factors that do not depend on the softmax, or are row values. Row values
  /// that do depend on it are known at the end only: they are appended to `factors`.
  bool find(Value value, SmallVector<Value> &factors) const {
    if (value == softmax.exponential) return true;
    Operation *op = value.getDefiningOp();
    if (op && (op->hasTrait<traits::PointwiseIdentity>() || isRounding(op))) return find(op->getOperand(0), factors);
    if (isa_and_nonnull<SelectOp>(op) && !dependent.contains(op->getOperand(0)))
      for (unsigned side : {1u, 2u})
        if (isZero(op->getOperand(3 - side))) return find(op->getOperand(side), factors);
    if (!isa_and_nonnull<MulOp>(op)) return false;
    for (unsigned side : {0u, 1u}) {
      Value factor = op->getOperand(1 - side);
      bool isDependent = dependent.contains(factor);
      if (isDependent && !isOfRow(factor)) continue;
      size_t before = factors.size();
      if (isDependent) factors.push_back(factor);
      if (find(op->getOperand(side), factors)) return true;
      factors.resize(before);
    }
    return false;
  }

private:
  /// Whether an op only rounds: a cast between types that do not saturate.
  static bool isRounding(Operation *op) {
    if (!isa_and_nonnull<CastOp>(op)) return false;
    return llvm::all_of(llvm::ArrayRef<Value>{op->getOperand(0), op->getResult(0)}, [](Value value) {
      Type element = tensorType(value).getElementType();
      return element.isF64() || element.isF32() || element.isBF16() || element.isF16();
    });
  }
  static bool isZero(Value value) {
    auto constant = value.getDefiningOp<ConstantOp>();
    return constant && constant.getNumber() == 0;
  }
  /// Whether a value is the same for all elements of a row.
  bool isOfRow(Value value) const { return (plan.varies.lookup(value) & ~plan.loops.parallelMask()) == 0; }

  const KernelPlan &plan;
  const OnlineSoftmax &softmax;
  llvm::SmallPtrSet<Value, 16> dependent; ///< on the maximum or the sum
};
} // namespace

std::optional<OnlineSoftmax> OnlineSoftmax::of(const KernelPlan &plan) {
  if (plan.sweeps != 2 || plan.softmaxSums.size() != 1) return std::nullopt;
  OnlineSoftmax result;
  std::tie(result.sum, result.max) = *plan.softmaxSums.begin();
  result.exponential = result.sum.getDefiningOp<ReduceOp>().getX();
  result.x = result.max.getDefiningOp<ReduceOp>().getX();
  for (Value item : plan.items)
    if (isa_and_nonnull<ReduceOp>(item.getDefiningOp()) && item != result.max && item != result.sum)
      return std::nullopt;
  for (Value value : {result.x, result.max, result.exponential, result.sum})
    if (!tensorType(value).getElementType().isF32()) return std::nullopt;
  MultiplesOfExponential multiples(plan, result);
  KernelOp kernel = plan.kernel;
  for (auto [i, value] : llvm::enumerate(plan.yield().getValues()))
    if (plan.isElementResult(i) && !multiples.find(value, result.factors[kernel.getResult(i)])) return std::nullopt;
  return result;
}
