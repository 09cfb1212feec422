//===- Quantize.cpp - fp8 operands and their scales -----------------------===//
//
// A tensor is multiplied by a scale before it is rounded to fp8, such that its largest magnitude becomes the largest
// power of two of the type; the result of a contraction is divided by both scales. Activations and weights become e4m3,
// gradients e5m2 (Micikevicius et al., "FP8 Formats for Deep Learning", 2022).
//
//   before   %y = tsr.contract %x, %w over ["in"]                             x, w, y: bf16
//   after    %w.8 = tsr.cast (%w * (256 / max |w|))                           once a step, before all repeats
//            %x.8 = tsr.cast (%x * (256 / %amax))                             f8E4M3FN
//            %sum = tsr.contract %x.8, %w.8 over ["in"]                       f32
//            %y = tsr.cast (%sum * (%amax / 256) * (max |w| / 256))           bf16
//            %amax' = max(max |x|, 7/8 %amax)                                 if max |x| is finite and above zero
//
// Activations and gradients have delayed scaling: the scale follows from earlier steps, so that no op waits for the
// largest magnitude. `amax` is state: the largest magnitude seen, which decays where later ones are smaller, and grows
// by a factor of 1024 at most, so that one outlier is soon forgotten. Elements up to 1.75 times as large fit; larger
// ones saturate. The first step uses an estimate: for gradients the reciprocal of the number of rows that the loss is
// averaged over.
//
// Weights and inputs are known before the step: their scales follow from their present values.
//
// An infinite element would saturate too, and the step would continue with it. Therefore the factor `unscale` of
// tsr.clip becomes NaN, so that the step counts as one with non-finite gradients and changes nothing, `amax` included.
//
// A tensor has a scale for each slice of a stack of layers (Fp8Product::stacks); one that a repeat computes again and
// again with the same weights has a single scale.
//
// What a repeat stacks for the backward pass is stacked in fp8, unless it is stacked in 16 bits for other readers: then
// the backward pass rounds it again, with the same scale.
//
//===----------------------------------------------------------------------===//

#include "passes/precision/Quantize.h"
#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "passes/precision/Casts.h"
#include "passes/precision/Fp8Plan.h"
#include "passes/precision/Policy.h"
#include "passes/state/NewState.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

/// The factor by which `amax` decays in a step.
static constexpr double decay = 0.875;
/// A lower bound of `amax`, so that scales are finite.
static constexpr double leastAmax = 0x1p-100;
/// The factor by which it may grow in a step.
static constexpr double mostGrowth = 1024;
/// The estimate for activations: elements of a normalised row are seldom larger.
static constexpr double firstActivation = 16;

/// The argument itself, if the value is an argument rounded to 16 bits.
static Value widest(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isa<BlockArgument>(cast.getX()) ? cast.getX() : value;
}

namespace {
/// A factor that is available in the function's body: a scalar, or one for each slice.
struct Scale {
  Value scale, inverse;
};

/// A tensor in fp8.
struct Twin {
  Value bytes;
  Value inverse; ///< of the scale: a scalar, or outside a repeat one for each slice
  Scale origin;  ///< of the scale; null if it is computed inside a repeat
};

/// A tensor that is rounded with a delayed scale.
struct Site {
  Value amax; ///< of this step, where the tensor is computed
  Value last; ///< the state
};

class Quantizer {
public:
  Quantizer(func::FuncOp step, const ComputeSettings &settings)
      : module(step->getParentOfType<ModuleOp>()), step(step), settings(settings), state(module) {}
  void run();

private:
  Twin twinOf(Value value, const Fp8Product &product, Fp8Role role);
  /// `value` is updated if it is the result of a repeat that must be rebuilt.
  Twin makeTwin(Value &value, const Fp8Product &product, Fp8Role role);
  Twin twinOfArgument(RepeatOp repeat, BlockArgument argument, const Fp8Product &product, Fp8Role role);
  std::pair<Twin, Value> twinOfStack(RepeatOp repeat, OpResult result, const Fp8Product &product, Fp8Role role);
  Twin quantize(Value value, const Fp8Product &product, Fp8Role role);
  Twin quantizeNow(Value value, const Fp8Product &product, Fp8Role role);
  Twin quantizeDelayed(Value value, const Fp8Product &product, Fp8Role role);
  Twin roundWith(Value value, Scale origin, Fp8Role role);
  bool isReadOtherwise(Value value);
  void multiplyTwins(const Fp8Product &product);
  void hoistMaxima();
  void propagateNonFinite(ClipOp clip);
  void updateState(ClipOp clip);

  RepeatOp stack(RepeatOp repeat, ValueRange values);
  Type typeFor(Fp8Role role);
  std::string freshPath(Value value, ContractOp reader);

  ModuleOp module;
  func::FuncOp step;
  const ComputeSettings &settings;
  NewState state;
  llvm::StringSet<> paths;                ///< of the state that is new
  llvm::DenseSet<Operation *> unfinished; ///< contractions that will have fp8 operands
  llvm::DenseMap<std::pair<Value, Type>, Twin> twins;
  SmallVector<Site> sites;
  Twin *held = nullptr; ///< of the contraction that is being rewritten
};
} // namespace

Type Quantizer::typeFor(Fp8Role role) {
  if (role == Fp8Role::Gradient) return Float8E5M2Type::get(module.getContext());
  return Float8E4M3FNType::get(module.getContext());
}

/// What `amax` is scaled to: the largest power of two of the type.
static double limitOf(Type type) { return std::exp2(std::floor(std::log2(largestOf(type)))); }

/// The axes of a type but those named.
static SmallVector<StringRef> axesBut(NamedTensorType type, const llvm::SmallSetVector<StringRef, 2> &kept) {
  SmallVector<StringRef> result;
  for (AxisAttr axis : type.getAxes())
    if (!kept.contains(axis.getName())) result.push_back(axis.getName());
  return result;
}

static Value largest(GraphBuilder &b, Value x, ArrayRef<StringRef> over) {
  Value size = b.unary<AbsOp>(x);
  return over.empty() ? size : b.reduce(ReduceKind::Max, size, over);
}

/// Whether the contraction can be divided by the scale: not if it sums over slices that have scales of their own.
static bool fits(const Twin &twin, const Fp8Product &product) {
  return llvm::none_of(tensorType(twin.inverse).getAxes(),
                       [&](AxisAttr axis) { return product.sumsOver(axis.getName()); });
}

Twin Quantizer::twinOf(Value value, const Fp8Product &product, Fp8Role role) {
  if (auto it = twins.find({value, typeFor(role)}); it != twins.end() && fits(it->second, product)) return it->second;
  Twin twin = makeTwin(value, product, role);
  if (!fits(twin, product)) return quantize(value, product, role);
  twins[{value, typeFor(role)}] = twin;
  return twin;
}

Twin Quantizer::makeTwin(Value &value, const Fp8Product &product, Fp8Role role) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    if (repeat && argument.getArgNumber() > repeat.getCarried().size())
      return twinOfArgument(repeat, argument, product, role);
  } else if (auto repeat = value.getDefiningOp<RepeatOp>()) {
    auto result = cast<OpResult>(value);
    if (result.getResultNumber() >= repeat.getCarried().size() && !product.sumsOver(repeat.getAxis().getName())) {
      auto [twin, renewed] = twinOfStack(repeat, result, product, role);
      value = renewed;
      return twin;
    }
  } else if (Operation *op = value.getDefiningOp(); isa<RenameOp, SplitOp, MergeOp>(op)) {
    // Reshape the fp8 tensor instead of quantizing the reshaped one.
    Twin twin = twinOf(op->getOperand(0), product, role);
    if (tensorType(twin.inverse).isScalar()) return {reshapeLike(op, twin.bytes), twin.inverse, twin.origin};
  }
  return quantize(value, product, role);
}

/// Whether an op reads the value, in any shape, that will not read it in fp8.
bool Quantizer::isReadOtherwise(Value value) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (movesElements(user)) return isReadOtherwise(user->getResult(0));
    return !unfinished.contains(user);
  });
}

Twin Quantizer::twinOfArgument(RepeatOp repeat, BlockArgument argument, const Fp8Product &product, Fp8Role role) {
  Value operand = repeat->getOperand(argument.getArgNumber() - 1);
  auto stacking = operand.getDefiningOp<RepeatOp>();
  unsigned number = stacking ? cast<OpResult>(operand).getResultNumber() : 0;
  if (stacking && number >= stacking.getCarried().size() && isReadOtherwise(argument)) {
    Twin inner = twinOf(stacking.getYield().getValues()[number], product, role);
    if (inner.origin.scale) return roundWith(argument, inner.origin, role);
  }
  Twin outer = twinOf(repeat->getOperand(argument.getArgNumber() - 1), product, role);
  repeat = cast<RepeatOp>(argument.getOwner()->getParentOp()); // it may have been rebuilt
  Value bytes = addLike(repeat, argument, outer.bytes);
  return {bytes, importInto(&repeat.getBlock(), outer.inverse), outer.origin};
}

/// A stacked value is quantized inside the repeat, and stacked in fp8.
std::pair<Twin, Value> Quantizer::twinOfStack(RepeatOp repeat, OpResult result, const Fp8Product &product,
                                              Fp8Role role) {
  unsigned number = result.getResultNumber();
  YieldOp yield = repeat.getYield();
  Twin inner = twinOf(yield.getValues()[number], product, role);
  Block *outside = repeat->getBlock();
  if (inner.origin.inverse) {
    repeat = stack(cast<RepeatOp>(yield->getParentOp()), inner.bytes);
    Twin twin{repeat->getResults().back(), importInto(outside, inner.origin.inverse), inner.origin};
    return {twin, repeat->getResult(number)};
  }
  repeat = stack(cast<RepeatOp>(yield->getParentOp()), {inner.bytes, inner.inverse});
  Twin twin{repeat->getResult(repeat->getNumResults() - 2), repeat->getResults().back(), {}};
  return {twin, repeat->getResult(number)};
}

/// Rebuilds the repeat with more stacked results, and updates all references to its results.
RepeatOp Quantizer::stack(RepeatOp repeat, ValueRange values) {
  SmallVector<Value> old(repeat->getResults());
  RepeatOp rebuilt = addStacked(repeat, values);
  auto renew = [&](Value &value) {
    auto it = llvm::find(old, value);
    if (it != old.end()) value = rebuilt->getResult(it - old.begin());
  };
  decltype(twins) renewed;
  for (auto &[key, twin] : twins) {
    std::pair<Value, Type> newKey = key;
    Twin newTwin = twin;
    renew(newKey.first), renew(newTwin.bytes), renew(newTwin.inverse);
    renewed[newKey] = newTwin;
  }
  twins = std::move(renewed);
  for (Site &site : sites) renew(site.amax);
  if (held) renew(held->bytes), renew(held->inverse);
  return rebuilt;
}

Twin Quantizer::quantize(Value value, const Fp8Product &product, Fp8Role role) {
  value = widest(value);
  bool isArgument = isa<BlockArgument>(value) && value.getParentBlock() == &step.getBody().front();
  return role == Fp8Role::Weight || isArgument ? quantizeNow(value, product, role)
                                               : quantizeDelayed(value, product, role);
}

/// With a scale that follows from the tensor itself.
Twin Quantizer::quantizeNow(Value value, const Fp8Product &product, Fp8Role role) {
  Type type = typeFor(role);
  GraphBuilder b = builderAfter(module, value);
  Value wide = b.cast(value, b.getF32Type());
  Value amax = largest(b, wide, axesBut(tensorType(wide), product.stacks));
  amax = b.max(amax, b.scalar(leastAmax, b.getF32Type()));
  Value limit = b.scalar(limitOf(type), b.getF32Type());
  Value scale = b.div(limit, amax), inverse = b.div(amax, limit);
  bool isOutside = value.getParentBlock() == &step.getBody().front();
  return {b.cast(b.mul(wide, scale), type), inverse, isOutside ? Scale{scale, inverse} : Scale{}};
}

/// With a scale that is available in the function's body. The value is defined after it, or in a repeat.
Twin Quantizer::roundWith(Value value, Scale origin, Fp8Role role) {
  Block *block = value.getParentBlock();
  Value scale = importInto(block, origin.scale), inverse = importInto(block, origin.inverse);
  GraphBuilder b = builderAfter(module, value);
  Value wide = b.cast(value, b.getF32Type());
  return {b.cast(b.mul(wide, scale), typeFor(role)), inverse, origin};
}

/// Rows of the gradient in a contraction: its axes besides those of the weights, or those that the gradient of a matrix
/// is summed over.
static double rowsOf(const Fp8Product &product) {
  ContractOp contract = product.contract;
  unsigned side = product.roles[0] == Fp8Role::Gradient ? 0 : 1;
  bool meetsWeight = product.roles[1 - side] == Fp8Role::Weight;
  double rows = 1;
  for (AxisAttr axis : tensorType(contract->getOperand(side)).getAxes())
    if (tensorType(contract->getOperand(1 - side)).hasAxis(axis.getName()) != meetsWeight) rows *= axis.getSize();
  return rows;
}

Twin Quantizer::quantizeDelayed(Value value, const Fp8Product &product, Fp8Role role) {
  Type type = typeFor(role);
  SmallVector<AxisAttr> axes; // of the state
  for (Operation *op = value.getParentBlock()->getParentOp(); auto repeat = dyn_cast<RepeatOp>(op);
       op = op->getParentOp())
    if (product.stacks.contains(repeat.getAxis().getName())) axes.push_back(repeat.getAxis());
  GraphBuilder top(module, value.getLoc());
  NamedTensorType stateType = top.type(axes, top.getF32Type());
  double first = role == Fp8Role::Gradient ? settings.lossScale.value_or(1) / rowsOf(product) : firstActivation;
  Value last = state.add(freshPath(value, product.contract), "scale", stateType, ArrayAttr(), first, value.getLoc());

  top.setInsertionPointToStart(&step.getBody().front());
  Value limit = top.scalar(limitOf(type), top.getF32Type());
  Twin twin = roundWith(value, {top.div(limit, last), top.div(last, limit)}, role);

  GraphBuilder b = builderAfter(module, value);
  Value wide = b.cast(value, b.getF32Type());
  sites.push_back({largest(b, wide, axesBut(tensorType(wide), {})), last});
  return twin;
}

/// "h.ln_1.amax": named after the tensor, or after the contraction.
std::string Quantizer::freshPath(Value value, ContractOp reader) {
  std::string base = "operand";
  if (!userName(reader).empty()) base = userName(reader).str();
  if (Operation *op = value.getDefiningOp()) {
    if (!userName(op).empty()) base = userName(op).str();
  }
  std::string path = base += ".amax";
  for (int number = 2; state.find(path) || !paths.insert(path).second; ++number)
    path = base + "_" + std::to_string(number);
  return path;
}

void Quantizer::multiplyTwins(const Fp8Product &product) {
  ContractOp contract = product.contract;
  Twin lhs = twinOf(contract.getLhs(), product, product.roles[0]);
  held = &lhs;
  Twin rhs = twinOf(contract.getRhs(), product, product.roles[1]);
  held = nullptr;
  GraphBuilder b(contract);
  Operation *previous = contract->getPrevNode();
  NamedTensorType type = contract.getType();
  auto sum = ContractOp::create(b, contract.getLoc(), type.withElementType(b.getF32Type()), lhs.bytes, rhs.bytes,
                                contract.getOver());
  Value result = b.mul(sum.getResult(), b.mul(lhs.inverse, rhs.inverse));
  result = b.cast(result, type.getElementType());
  if (Operation *last = result.getDefiningOp()) copyUserName(contract, last);
  setStepPassBetween(previous, contract, stepPass(contract));
  contract.getResult().replaceAllUsesWith(result);
  contract.erase();
}

/// Moves the maxima of this step out of the repeats.
void Quantizer::hoistMaxima() {
  for (unsigned i = 0; i < sites.size(); ++i)
    while (auto repeat = dyn_cast<RepeatOp>(sites[i].amax.getParentBlock()->getParentOp())) {
      AxisAttr axis = repeat.getAxis();
      Value stacked = stack(repeat, sites[i].amax)->getResults().back();
      GraphBuilder b = builderAfter(module, stacked);
      bool isKept = tensorType(sites[i].last).hasAxis(axis.getName());
      sites[i].amax = isKept ? stacked : b.reduce(ReduceKind::Max, stacked, axis.getName());
    }
}

/// False for NaN too.
static Value isFinite(GraphBuilder &b, Value x) {
  return b.compare(Predicate::LT, x, b.scalar(std::numeric_limits<double>::infinity(), tensorType(x).getElementType()));
}

/// A non-finite value must reach the norm of the gradients, as it would without saturation.
void Quantizer::propagateNonFinite(ClipOp clip) {
  GraphBuilder b(clip);
  Operation *previous = clip->getPrevNode();
  Value worst;
  for (const Site &site : sites) {
    Operation *maker = site.amax.getDefiningOp();
    if (maker->getBlock() != clip->getBlock() || !maker->isBeforeInBlock(clip)) continue;
    SmallVector<StringRef> axes = axesBut(tensorType(site.amax), {});
    Value amax = axes.empty() ? site.amax : b.reduce(ReduceKind::Max, site.amax, axes);
    worst = worst ? b.max(worst, amax) : amax;
  }
  if (!worst) return;
  Type element = clip.getNorm().getType().getElementType();
  Value factor =
      b.select(isFinite(b, worst), b.scalar(1, element), b.scalar(std::numeric_limits<double>::quiet_NaN(), element));
  if (clip.getUnscale()) factor = b.mul(factor, clip.getUnscale());
  clip.getUnscaleMutable().assign(factor);
  setStepPassBetween(previous, clip, StepPass::Optimizer);
}

void Quantizer::updateState(ClipOp clip) {
  Operation *end = step.getBody().front().getTerminator(), *previous = end->getPrevNode();
  GraphBuilder b(end);
  b.setLoc(b.getUnknownLoc());
  Type f32 = b.getF32Type();
  SmallVector<Value> next;
  for (const Site &site : sites) {
    Value isSeen = b.logicalAnd(b.compare(Predicate::GT, site.amax, b.scalar(0, f32)), isFinite(b, site.amax));
    if (clip) isSeen = b.logicalAnd(isSeen, isFinite(b, clip.getNorm()));
    Value decayed = b.max(site.amax, b.mul(site.last, decay));
    Value limited = b.min(decayed, b.mul(site.last, mostGrowth));
    next.push_back(b.select(isSeen, b.max(limited, b.scalar(leastAmax, f32)), site.last));
  }
  setStepPassBetween(previous, end, StepPass::Optimizer);
  state.setResults(next);
  state.finish();
}

void Quantizer::run() {
  std::vector<Fp8Product> products = planFp8(step);
  for (const Fp8Product &product : products) unfinished.insert(product.contract);
  for (const Fp8Product &product : products) multiplyTwins(product);
  hoistMaxima();
  ClipOp clip;
  step.walk([&](ClipOp op) { clip = op; });
  if (clip) propagateNonFinite(clip);
  updateState(clip);
}

void tessera::quantizeProducts(ModuleOp module, const ComputeSettings &settings) {
  if (auto step = module.lookupSymbol<func::FuncOp>("step")) Quantizer(step, settings).run();
}
