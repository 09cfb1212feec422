//===- Quantize.cpp - operands of eight bits, and their scales ------------===//
//
// A tensor is multiplied by a scale before it is rounded to eight bits, which brings its largest number to the type's largest
// power of two, and a product of two is divided by both scales. Activations and weights become e4m3, gradients e5m2 (Micikevicius et
// al., "FP8 Formats for Deep Learning", 2022).
//
//   before   %y = tsr.contract %x, %w over ["in"]                             x, w, y: bf16
//   after    %w.8 = tsr.cast (%w * (256 / max |w|))                           once a step, in front of all repeats
//            %x.8 = tsr.cast (%x * (256 / %amax))                             f8E4M3FN
//            %sum = tsr.contract %x.8, %w.8 over ["in"]                       f32
//            %y = tsr.cast (%sum * (%amax / 256) * (max |w| / 256))           bf16
//            %amax' = max(max |x|, 7/8 %amax)                                 where max |x| is a number above zero
//
// What activations and gradients are multiplied with follows from the steps before, so that nothing waits for their largest number:
// delayed scaling. `amax` is state: the largest number seen, which fades where later ones are smaller. Numbers up to
// 1.75 times as large fit, and larger ones are cut off. A first guess holds for the first step: for gradients the reciprocal of the rows that the
// loss is the mean of.
//
// Weights are known in front of the step: theirs is what they need now.
//
// An infinite number would be cut off too, and the step go on with it: the factor `unscale` of tsr.clip is NaN then, so that the step is
// one that is not finite, and changes nothing.
//
// A tensor has a scale for each slice of a stack of layers (Fp8Product::stacks); one that a repeat makes again and again with the same
// weights has one for all.
//
//===----------------------------------------------------------------------===//

#include "passes/precision/Quantize.h"
#include "ir/Program.h"
#include "ir/Repeats.h"
#include "passes/precision/Fp8Plan.h"
#include "passes/precision/Policy.h"
#include "passes/state/NewState.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

/// What is left of a largest number after a step without such a one.
static constexpr double fading = 0.875;
/// Largest numbers are taken to be at least this, so that scales are finite.
static constexpr double leastAmax = 0x1p-100;
/// The guess for activations: a normalized row seldom has larger ones.
static constexpr double firstActivation = 16;

/// An argument that is at hand as it was before it was rounded to 16 bits.
static Value widest(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isa<BlockArgument>(cast.getX()) ? cast.getX() : value;
}

namespace {
/// A tensor in eight bits.
struct Twin {
  Value bytes;
  Value inverse; ///< of the scale: a scalar, or in front of a repeat one for each slice
};

/// A tensor that is rounded with a delayed scale.
struct Site {
  Value amax; ///< of this step, where the tensor is made
  Value last; ///< the state
};

class Quantizer {
public:
  Quantizer(ModuleOp module, func::FuncOp step) : module(module), step(step), state(module) {
    for (BlockArgument argument : step.getArguments())
      if (auto input = step.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), attrs::input))
        inputs[argument] = input.getAs<StringAttr>("name").getValue();
  }
  void run();

private:
  Twin twinOf(Value value, const Fp8Product &product, Fp8Role role);
  /// `value` is renewed if it is the result of a repeat that must be built anew.
  Twin makeTwin(Value &value, const Fp8Product &product, Fp8Role role);
  Twin twinOfArgument(RepeatOp repeat, BlockArgument argument, const Fp8Product &product, Fp8Role role);
  std::pair<Twin, Value> twinOfStack(RepeatOp repeat, OpResult result, const Fp8Product &product, Fp8Role role);
  Twin quantize(Value value, const Fp8Product &product, Fp8Role role) {
    value = widest(value);
    return role == Fp8Role::Weight ? quantizeWeight(value, product) : quantizeDelayed(value, product, role);
  }
  Twin quantizeWeight(Value value, const Fp8Product &product);
  Twin quantizeDelayed(Value value, const Fp8Product &product, Fp8Role role);
  void multiplyTwins(const Fp8Product &product);
  void bringOut();
  void passInfinitiesOn();
  void updateState();

  RepeatOp stack(RepeatOp repeat, ValueRange values);
  Type typeFor(Fp8Role role);
  std::string freshPath(Value value, ContractOp reader);

  ModuleOp module;
  func::FuncOp step;
  NewState state;
  llvm::DenseMap<Value, StringRef> inputs; ///< names of those of the step
  llvm::StringSet<> paths;                 ///< of the state that is new
  llvm::DenseMap<std::pair<Value, Type>, Twin> twins;
  SmallVector<Site> sites;
  Twin *held = nullptr; ///< of the product in work
};
} // namespace

Type Quantizer::typeFor(Fp8Role role) {
  if (role == Fp8Role::Gradient) return Float8E5M2Type::get(module.getContext());
  return Float8E4M3FNType::get(module.getContext());
}

/// What the largest number of a tensor becomes: the largest power of two that the type has.
static double limitOf(Type type) { return std::exp2(std::floor(std::log2(largestOf(type)))); }

/// Builds behind the definition of the value.
static GraphBuilder builderAfter(ModuleOp module, Value value) {
  Operation *op = value.getDefiningOp();
  GraphBuilder b(module, op ? op->getLoc() : value.getLoc());
  if (op)
    b.setInsertionPointAfter(op);
  else
    b.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
  return b;
}

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

/// Whether a product can be divided by the scale: not where it sums over slices that have scales of their own.
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
    // Another shape of the tensor is another shape of its twin.
    Twin twin = twinOf(op->getOperand(0), product, role);
    if (tensorType(twin.inverse).isScalar()) {
      OpBuilder b(op);
      b.setInsertionPointAfter(op);
      Operation *copy = b.clone(*op);
      copy->setOperand(0, twin.bytes);
      copy->getResult(0).setType(tensorType(value).withElementType(typeFor(role)));
      return {copy->getResult(0), twin.inverse};
    }
  }
  return quantize(value, product, role);
}

Twin Quantizer::twinOfArgument(RepeatOp repeat, BlockArgument argument, const Fp8Product &product, Fp8Role role) {
  bool isSliced = llvm::is_contained(repeat.getSlicedArgs(), argument);
  Twin outer = twinOf(repeat->getOperand(argument.getArgNumber() - 1), product, role);
  repeat = cast<RepeatOp>(argument.getOwner()->getParentOp()); // it may have been built anew
  Value bytes = isSliced ? addSliced(repeat, outer.bytes) : addInvariant(repeat, outer.bytes);
  return {bytes, importInto(&repeat.getBlock(), outer.inverse)};
}

/// What a repeat stacks is rounded inside of it, and stacked so.
std::pair<Twin, Value> Quantizer::twinOfStack(RepeatOp repeat, OpResult result, const Fp8Product &product,
                                              Fp8Role role) {
  unsigned number = result.getResultNumber();
  YieldOp yield = repeat.getYield();
  Twin inner = twinOf(yield.getValues()[number], product, role);
  repeat = stack(cast<RepeatOp>(yield->getParentOp()), {inner.bytes, inner.inverse});
  return {{repeat->getResult(repeat->getNumResults() - 2), repeat->getResults().back()}, repeat->getResult(number)};
}

/// The repeat with more stacked results; what is known of its results so far goes over to the new op's.
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

/// By the largest number that the weights have now.
Twin Quantizer::quantizeWeight(Value value, const Fp8Product &product) {
  Type type = typeFor(Fp8Role::Weight);
  GraphBuilder b = builderAfter(module, value);
  Value wide = b.cast(value, b.getF32Type());
  Value amax = largest(b, wide, axesBut(tensorType(wide), product.stacks));
  amax = b.max(amax, b.scalar(leastAmax, b.getF32Type()));
  Value limit = b.scalar(limitOf(type), b.getF32Type());
  Value bytes = b.cast(b.mul(wide, b.div(limit, amax)), type);
  return {bytes, b.div(amax, limit)};
}

/// Rows of the gradient in a product: what it has beside the axes of the weights, or what the gradient of a matrix is summed over.
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
  double first = role == Fp8Role::Gradient ? 1 / rowsOf(product) : firstActivation;
  Value last = state.add(freshPath(value, product.contract), "scale", stateType, ArrayAttr(), first, value.getLoc());

  top.setInsertionPointToStart(&step.getBody().front());
  Value limit = top.scalar(limitOf(type), top.getF32Type());
  Value scale = top.div(limit, last), inverse = top.div(last, limit);
  Block *block = value.getParentBlock();
  scale = importInto(block, scale), inverse = importInto(block, inverse);

  GraphBuilder b = builderAfter(module, value);
  if (Operation *maker = inverse.getDefiningOp(); maker && isa<BlockArgument>(value)) b.setInsertionPointAfter(maker);
  Value wide = b.cast(value, b.getF32Type());
  sites.push_back({largest(b, wide, axesBut(tensorType(wide), {})), last});
  return {b.cast(b.mul(wide, scale), type), inverse};
}

/// "h.ln_1.amax": after what is rounded, or what it is multiplied for.
std::string Quantizer::freshPath(Value value, ContractOp reader) {
  std::string base = "operand";
  if (!userName(reader).empty()) base = userName(reader).str();
  if (Operation *op = value.getDefiningOp()) {
    if (!userName(op).empty()) base = userName(op).str();
  } else if (inputs.contains(value)) {
    base = inputs.lookup(value).str();
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
  NamedTensorType type = contract.getType();
  auto sum = ContractOp::create(b, contract.getLoc(), type.withElementType(b.getF32Type()), lhs.bytes, rhs.bytes,
                                Value(), Value(), contract.getOver());
  copyUserName(contract, sum);
  Value result = b.mul(sum, b.mul(lhs.inverse, rhs.inverse));
  result = b.cast(result, type.getElementType());
  if (Operation *last = result.getDefiningOp()) copyUserName(contract, last);
  contract.replaceAllUsesWith(result);
  contract.erase();
}

/// Brings the largest numbers of this step out of the repeats.
void Quantizer::bringOut() {
  for (unsigned i = 0; i < sites.size(); ++i)
    while (auto repeat = dyn_cast<RepeatOp>(sites[i].amax.getParentBlock()->getParentOp())) {
      AxisAttr axis = repeat.getAxis();
      Value stacked = stack(repeat, sites[i].amax)->getResults().back();
      GraphBuilder b = builderAfter(module, stacked);
      bool isKept = tensorType(sites[i].last).hasAxis(axis.getName());
      sites[i].amax = isKept ? stacked : b.reduce(ReduceKind::Max, stacked, axis.getName());
    }
}

/// false of NaN too.
static Value isFinite(GraphBuilder &b, Value x) {
  return b.compare(Predicate::LT, x, b.scalar(std::numeric_limits<double>::infinity(), tensorType(x).getElementType()));
}

/// A number that is not finite must end up in the gradients' norm, as it would without having been cut off.
void Quantizer::passInfinitiesOn() {
  ClipOp clip;
  step.walk([&](ClipOp op) { clip = op; });
  if (!clip) return;
  GraphBuilder b(clip);
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
}

void Quantizer::updateState() {
  GraphBuilder b(step.getBody().front().getTerminator());
  b.setLoc(b.getUnknownLoc());
  Type f32 = b.getF32Type();
  SmallVector<Value> next;
  for (const Site &site : sites) {
    Value isSeen = b.logicalAnd(b.compare(Predicate::GT, site.amax, b.scalar(0, f32)), isFinite(b, site.amax));
    Value faded = b.max(site.amax, b.mul(site.last, fading));
    next.push_back(b.select(isSeen, b.max(faded, b.scalar(leastAmax, f32)), site.last));
  }
  state.setResults(next);
  state.finish();
}

void Quantizer::run() {
  for (const Fp8Product &product : planFp8(step)) multiplyTwins(product);
  bringOut();
  passInfinitiesOn();
  updateState();
}

void tessera::quantizeProducts(ModuleOp module) {
  if (auto step = module.lookupSymbol<func::FuncOp>("step")) Quantizer(module, step).run();
}
