//===- Epilogues.cpp - GELU and its gradient as epilogues of GEMMs --------===//
//
//   before   %x = tsr.contract %a, %b bias %c
//            %y = GELU of %x
//   after    %y, %x = tsr.contract %a, %b bias %c epilogue gelu
//
//   before   %d = tsr.contract %a, %b
//            %g = %d times the derivative of GELU at %x
//            %s = tsr.reduce sum %g over rows
//   after    %g, %s = tsr.contract %a, %b epilogue gelu_grad aux %x
//
// GELU can be spelled in many ways, and after differentiation and `simplify` its gradient in even more. So both are
// recognised by what they compute: values that depend on %x (and %d) alone, by smooth arithmetic and constants, are
// evaluated at sample points and compared with GELU.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Gelu.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Prepare.h"
#include "passes/gemm/Gemm.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// What values compute
//===----------------------------------------------------------------------===//

/// Sample points. Two smooth functions of some ten operations that agree at all of them are equal.
static constexpr double points[] = {-300,  -40,   -11.7, -8.3,  -6.1,  -4.9,  -3.7, -3.1,  -2.6,  -2.2, -1.9,
                                    -1.55, -1.31, -0.97, -0.75, -0.52, -0.31, -0.1, -0.01, -1e-3, 1e-3, 0.02,
                                    0.13,  0.34,  0.49,  0.71,  0.93,  1.12,  1.43, 1.7,   2.05,  2.3,  2.71,
                                    3.3,   3.9,   4.6,   5.8,   7.7,   12.9,  44,   290};
static constexpr size_t pointCount = std::size(points);
/// The factors of the derivative; each is tried at all points.
static constexpr double factors[] = {1, -2.5, 0.3};
/// Constants are rounded to f32.
static constexpr double tolerance = 2e-6;

/// The values of a formula at the sample points.
using Samples = SmallVector<double>;

static bool isGelu(ArrayRef<double> samples) {
  for (auto [x, y] : llvm::zip_equal(ArrayRef(points), samples))
    if (!(std::abs(y - gelu(x)) <= tolerance * std::abs(x))) return false;
  return true;
}

/// The gradient is sampled at all points for each factor.
static bool isGeluGradient(ArrayRef<double> samples) {
  for (size_t i = 0; i < samples.size(); ++i) {
    double factor = factors[i / pointCount];
    if (!(std::abs(samples[i] - factor * geluDerivative(points[i % pointCount])) <= tolerance * std::abs(factor)))
      return false;
  }
  return true;
}

/// Whether an op rounds to a type in which values are stored, or widens again. An epilogue does not round in between.
static bool isStorageCast(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  auto isStorageType = [](Type element) { return element.isF32() || element.isBF16() || element.isF16(); };
  return cast && isStorageType(cast.getX().getType().getElementType()) &&
         isStorageType(cast.getType().getElementType());
}

static bool isSmooth(Operation *op) { return op->hasTrait<traits::Smooth>() || isStorageCast(op); }

namespace {
/// Samples values as functions of some others, the leaves.
class FormulaSampler {
public:
  explicit FormulaSampler(size_t count) : count(count) {}

  void setLeaf(Value leaf, Samples samples) { known[leaf] = std::move(samples); }

  /// The samples of a value; null if it depends on other values too, or if `tsr.precision` exempts an op.
  const Samples *find(Value value, int depth = 0) {
    constexpr int mostOps = 64; // of a chain
    auto [it, isNew] = known.try_emplace(value);
    if (isNew)
      if (std::optional<Samples> samples = depth < mostOps ? compute(value, depth) : std::nullopt)
        known[value] = std::move(*samples);
    const Samples &found = known[value];
    return found.empty() ? nullptr : &found;
  }

private:
  std::optional<Samples> compute(Value value, int depth) {
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast_or_null<ConstantOp>(op)) return Samples(count, constant.getNumber());
    if (!op || !isSmooth(op) || staysInF32(op)) return std::nullopt;
    SmallVector<Samples> operands;
    for (Value operand : op->getOperands()) {
      const Samples *samples = find(operand, depth + 1);
      if (!samples) return std::nullopt;
      operands.push_back(*samples);
    }
    Samples result;
    for (size_t i = 0; i < count; ++i) {
      SmallVector<double> at = llvm::map_to_vector(operands, [&](const Samples &samples) { return samples[i]; });
      result.push_back(cast<ElementwiseOpInterface>(op).applyScalar(at));
    }
    return result;
  }

  size_t count;                         ///< of points
  llvm::DenseMap<Value, Samples> known; ///< empty: not a function of the leaves
};
} // namespace

/// The points, repeated for each factor.
static Samples pointsForFactors() {
  Samples samples;
  for (size_t i = 0; i < std::size(factors); ++i) llvm::append_range(samples, points);
  return samples;
}

/// Each factor, repeated for all points.
static Samples factorsForPoints() {
  Samples samples;
  for (double factor : factors) samples.append(pointCount, factor);
  return samples;
}

//===----------------------------------------------------------------------===//
// Uses of values
//===----------------------------------------------------------------------===//

/// `value` itself if it has that type; else its casts to `type`, if it has no other users.
static SmallVector<Value> castsTo(Value value, NamedTensorType type) {
  if (value.getType() == type) return {value};
  SmallVector<Value> rounded;
  for (Operation *user : value.getUsers()) {
    if (!isa<CastOp>(user) || user->getResult(0).getType() != type) return {};
    rounded.push_back(user->getResult(0));
  }
  return rounded;
}

/// Whether a value is in memory, however ops are grouped into kernels.
static bool isStored(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ContractOp, RepeatOp>(op) || isStorageView(op)) return true;
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<ContractOp, RepeatOp, YieldOp, func::ReturnOp>(user) || isStorageView(user);
  });
}

/// The values that the result of an epilogue replaces; empty if they need not be stored.
static SmallVector<Value> valuesReplacedBy(Value value, NamedTensorType type) {
  SmallVector<Value> replaced = castsTo(value, type);
  return llvm::any_of(replaced, isStored) ? replaced : SmallVector<Value>();
}

/// Limits of the search. GELU's gradient, with roundings, has some thirty values.
static constexpr unsigned mostValues = 64, mostOthers = 16;

/// The values that are computed from a contraction's result by smooth arithmetic and have its axes, in program order.
static llvm::SetVector<Value> valuesFrom(ContractOp contract) {
  llvm::SetVector<Value> values;
  values.insert(contract.getResult());
  NamedTensorType type = contract.getType();
  for (Operation *op = contract->getNextNode(); op && values.size() < mostValues; op = op->getNextNode()) {
    bool follows = llvm::any_of(op->getOperands(), [&](Value operand) { return values.contains(operand); });
    if (follows && isSmooth(op) && tensorType(op->getResult(0)).getAxes() == type.getAxes())
      values.insert(op->getResult(0));
  }
  values.remove(contract.getResult());
  return values;
}

/// Whether all paths from `first` lead to `last`.
static bool leadsOnlyTo(Value last, Value first, const llvm::SetVector<Value> &between) {
  llvm::DenseSet<Value> used{last};
  SmallVector<Value> work{last};
  while (!work.empty())
    for (Value operand : work.pop_back_val().getDefiningOp()->getOperands())
      if (between.contains(operand) && used.insert(operand).second) work.push_back(operand);
  auto staysInside = [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      return user->getNumResults() == 1 && used.contains(user->getResult(0));
    });
  };
  return staysInside(first) && llvm::all_of(used, [&](Value value) { return value == last || staysInside(value); });
}

static void eraseDeadArithmetic(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && (isSmooth(&op) || isa<ConstantOp>(op))) op.erase();
}

//===----------------------------------------------------------------------===//
// GELU
//===----------------------------------------------------------------------===//

/// The contraction with an epilogue, inserted before `before`; it has a second result of type `extra` unless that is
/// null.
static ContractOp withEpilogue(Operation *before, ContractOp contract, Epilogue epilogue, Value aux, Type extra) {
  OpBuilder builder(before);
  auto made = ContractOp::create(builder, contract.getLoc(), contract.getType(), extra, contract.getLhs(),
                                 contract.getRhs(), Value(), contract.getBias(), aux, contract.getOver(),
                                 EpilogueAttr::get(builder.getContext(), epilogue));
  copyNotes(contract, made);
  if (Attribute reason = contract->getAttr(attrs::unaligned)) made->setAttr(attrs::unaligned, reason);
  return made;
}

static bool canHaveEpilogue(ContractOp contract) {
  return !contract.getEpilogue() && !contract.getInit() && !staysInF32(contract) &&
         mayHaveEpilogue(contractTypes(contract));
}

static void absorbGelu(ContractOp contract) {
  if (!canHaveEpilogue(contract)) return;
  FormulaSampler sampler(pointCount);
  sampler.setLeaf(contract.getResult(), Samples(std::begin(points), std::end(points)));
  SmallVector<Value> replaced;
  for (Value value : valuesFrom(contract)) {
    const Samples *samples = sampler.find(value);
    if (!samples || !isGelu(*samples)) continue;
    replaced = valuesReplacedBy(value, contract.getType());
    break;
  }
  if (replaced.empty()) return;

  Block &block = *contract->getBlock();
  ContractOp made = withEpilogue(contract, contract, Epilogue::Gelu, {}, contract.getType());
  contract.getResult().replaceAllUsesWith(made.getExtra());
  for (Value value : replaced) value.replaceAllUsesWith(made.getResult());
  contract.erase();
  eraseDeadArithmetic(block);
  if (!made.getExtra().use_empty()) return;
  ContractOp alone = withEpilogue(made, made, Epilogue::Gelu, {}, {}); // the sum is unused
  made.getResult().replaceAllUsesWith(alone.getResult());
  made.erase();
}

//===----------------------------------------------------------------------===//
// Its gradient
//===----------------------------------------------------------------------===//

/// The tensors of `type` in memory that a formula depends on, besides `product`.
static llvm::SetVector<Value> storedLeaves(const llvm::SetVector<Value> &formula, Value product, NamedTensorType type) {
  llvm::SetVector<Value> seen, others;
  seen.insert(formula.begin(), formula.end());
  for (unsigned i = 0; i < seen.size() && others.size() < mostOthers; ++i)
    for (Value operand : seen[i].getDefiningOp()->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (operand == product || isa_and_nonnull<ConstantOp>(op)) continue;
      if (op && isSmooth(op)) seen.insert(operand);
      if (operand.getType() == type && isStored(operand) && coversRoot(operand)) others.insert(operand);
    }
  return others;
}

namespace {
/// A contraction's result times the derivative of GELU.
struct GeluGradient {
  Value value;                ///< before it is rounded
  SmallVector<Value> results; ///< as stored
  Value at;                   ///< the operand of GELU
};
} // namespace

static std::optional<GeluGradient> findGradient(ContractOp contract) {
  Value product = contract.getResult();
  llvm::SetVector<Value> formula = valuesFrom(contract);
  for (Value at : storedLeaves(formula, product, contract.getType())) {
    FormulaSampler sampler(pointCount * std::size(factors));
    sampler.setLeaf(at, pointsForFactors());
    sampler.setLeaf(product, factorsForPoints());
    for (Value value : formula) {
      const Samples *samples = sampler.find(value);
      if (!samples || !isGeluGradient(*samples) || !leadsOnlyTo(value, product, formula)) continue;
      if (SmallVector<Value> results = valuesReplacedBy(value, contract.getType()); !results.empty())
        return GeluGradient{value, results, at};
    }
  }
  return std::nullopt;
}

/// The sum over rows of an epilogue's result, if cuBLASLt can compute it too: only in f32, since it rounds the sum to
/// the result's type.
static ReduceOp findSumOfRows(Value gradient, const ContractTypes &types) {
  if (!types.result.getElementType().isF32()) return {};
  for (Operation *user : gradient.getUsers()) {
    auto sum = dyn_cast<ReduceOp>(user);
    if (!sum || sum.getKind() != ReduceKind::Sum || staysInF32(sum)) continue;
    ContractTypes withSum = types;
    withSum.bias = sum.getType();
    if (mayHaveEpilogue(withSum)) return sum;
  }
  return {};
}

static void absorbGeluGradient(ContractOp contract) {
  if (!canHaveEpilogue(contract) || contract.getBias()) return;
  std::optional<GeluGradient> gradient = findGradient(contract);
  if (!gradient) return;
  Block &block = *contract->getBlock();
  ReduceOp sum = findSumOfRows(gradient->results.front(), contractTypes(contract));
  // `at` may be defined after the contraction.
  ContractOp made = withEpilogue(gradient->value.getDefiningOp(), contract, Epilogue::GeluGrad, gradient->at,
                                 sum ? sum.getType() : Type());
  for (Value result : gradient->results) result.replaceAllUsesWith(made.getResult());
  if (sum) {
    sum.getResult().replaceAllUsesWith(made.getExtra());
    sum.erase();
  }
  eraseDeadArithmetic(block);
  contract.erase();
}

/// What `--gemm-epilogues` says, or else the description of the GPU.
static bool allowsGelus(ModuleOp module) {
  Target target = Target::of(module);
  auto wanted = module->getAttrOfType<StringAttr>(attrs::epilogues);
  return target.isGpu() && (wanted ? wanted.getValue() == "gelu" : target.library.hasGeluEpilogues);
}

void tessera::absorbGelus(ModuleOp module) {
  // Not in an audit: `shadow` computes op by op, and its calls are paired with those of `step`.
  if (!allowsGelus(module) || hasShadow(module)) return;
  for (auto absorb : {absorbGelu, absorbGeluGradient}) {
    SmallVector<ContractOp> contracts;
    module.walk([&](ContractOp contract) { contracts.push_back(contract); });
    for (ContractOp contract : contracts) absorb(contract);
  }
}
