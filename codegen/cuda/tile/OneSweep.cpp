//===- OneSweep.cpp - sums weighted by a softmax, in one sweep --------------===//

#include "codegen/cuda/tile/OneSweep.h"
#include "codegen/cuda/tile/TileWriter.h"
#include "codegen/cuda/writer/Scalars.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::cuda;

namespace {
/// What the values of a kernel depend on.
class Multiples {
public:
  Multiples(const KernelPlan &plan, const OneSweep &softmax) : plan(plan), softmax(softmax) {
    dependent.insert(softmax.max);
    dependent.insert(softmax.sum);
    for (Value item : plan.items)
      if (Operation *op = item.getDefiningOp())
        if (llvm::any_of(op->getOperands(), [&](Value operand) { return dependent.contains(operand); }))
          dependent.insert(item);
  }

  /// Whether `value` is the exponential times others. Those of them that are known at the end only become `factors`.
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
  /// Whether an op changes nothing of a number but how exact it is, whatever its size.
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
  /// Whether all numbers of a row share it.
  bool isOfRow(Value value) const { return (plan.varies.lookup(value) & ~plan.loops.parallelMask()) == 0; }

  const KernelPlan &plan;
  const OneSweep &softmax;
  llvm::SmallPtrSet<Value, 16> dependent;
};
} // namespace

std::optional<OneSweep> OneSweep::of(const KernelPlan &plan) {
  if (plan.sweeps != 2 || plan.softmaxSums.size() != 1) return std::nullopt;
  OneSweep result;
  std::tie(result.sum, result.max) = *plan.softmaxSums.begin();
  result.exponential = result.sum.getDefiningOp<ReduceOp>().getX();
  result.x = result.max.getDefiningOp<ReduceOp>().getX();
  for (Value item : plan.items)
    if (isa_and_nonnull<ReduceOp>(item.getDefiningOp()) && item != result.max && item != result.sum)
      return std::nullopt;
  for (Value value : {result.x, result.max, result.exponential, result.sum})
    if (!tensorType(value).getElementType().isF32()) return std::nullopt;
  Multiples multiples(plan, result);
  KernelOp kernel = plan.kernel;
  for (auto [i, value] : llvm::enumerate(plan.yield().getValues()))
    if (plan.isElementResult(i) && !multiples.find(value, result.factors[kernel.getResult(i)])) return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// The code
//===----------------------------------------------------------------------===//

bool TileWriter::isOneSweep() const {
  if (!reducing || kernels.size() != 1 || !mapping.ownsRows || sums.empty()) return false;
  KernelOp kernel = reducing->op;
  bool areRead = llvm::all_of(sums, [&](const Product &sum) { return sum.own.getDefiningOp() == kernel; });
  auto isReadBySums = [&](Value result) {
    return !isMatrix(result) || llvm::all_of(result.getUsers(), llvm::IsaPred<ContractOp>);
  };
  return areRead && llvm::all_of(kernel.getResults(), isReadBySums);
}

/// The elements of the weights, but for what is known at the end only.
void TileWriter::writeWeights() {
  declareWeights();
  openElements();
  std::string running = accumulators.lookup(oneSweep->max);
  enter(*reducing);
  indices[reducing->rowsLoop()] = lineName(/*isRow=*/true);
  indices[reducing->rowsLoop() + 1] = lineName(/*isRow=*/false);
  know(oneSweep->max, {running, ".max", Many::PerRow});
  know(oneSweep->x, {rowNumbers.lookup(oneSweep->max) + "[v / 2][2 * n + v % 2]", ""});
  for (auto &[result, factors] : oneSweep->factors)
    for (Value factor : factors) know(factor, {literal(1.0, tensorType(factor).getElementType()), ""});
  writeItems(*reducing, planSweep(reducing->plan, reducing->plan.sweeps, [&](Value value) { return isKnown(value); }));
  text.line(running + "[v / 2].sum += " + use(oneSweep->exponential) + ";");
  writeFragments(*reducing);
  closeElements();
}

void TileWriter::writeOneSweep() {
  declareAccumulators(1);
  openTiles(1, tiles);
  for (const Product &maker : makers) writeMaker(maker);
  writeElements(1, /*isLast=*/false);
  std::string running = accumulators.lookup(oneSweep->max), scale = unique("scale");
  std::string numbers = rowNumbers.lookup(oneSweep->max);
  auto advance = [&](StringRef half) {
    return ("tsr::advance<4>(" + running + half + ", " + numbers + half + ")").str();
  };
  text.line("const float " + scale + "[2] = {" + advance("[0]") + ", " + advance("[1]") + "};");
  for (const Product &sum : sums) {
    text.line("#pragma unroll");
    text.open("for (int n = 0; n < " + Twine(padded(sum.extent) / 8) + "; ++n)");
    text.line("#pragma unroll");
    text.line("for (int v = 0; v < 4; ++v) " + sumNames.lookup(sum.result) + "[n].values[v] *= " + scale + "[v / 2];");
    text.close();
  }
  writeWeights();
  for (const Product &sum : sums) writeSum(sum);
  closeTiles();
  for (const char *half : {"[0]", "[1]"})
    text.line(running + half + ".sum = tsr::warp_reduce<tsr::Sum, 4>(" + running + half + ".sum);");
  know(oneSweep->max, {running, ".max", Many::PerRow});
  know(oneSweep->sum, {running, ".sum", Many::PerRow});
  writeRowStep(1);
  writeRowStep(2);
}
