//===- Prepare.cpp - rewrites before ops are grouped ----------------------===//

#include "passes/fusion/Prepare.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/dialect/Reshape.h"
#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "ir/program/Target.h"
#include "passes/analysis/Views.h"
#include "passes/fusion/Groups.h"
#include "passes/gemm/Gemm.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// A source that computes what an op computes of a source; null if there is none.
static Value foldIntoSource(Operation *op) {
  OpBuilder builder(op);
  if (auto seed = dyn_cast<SeedOp>(op)) {
    auto one = builder.getFloatAttr(tensorType(seed.getResult()).getElementType(), 1.0);
    return ConstantOp::create(builder, op->getLoc(), seed.getResult().getType(), one);
  }
  if (!isReshape(op) && !isa<SliceOp, ReorderOp>(op)) return {};
  if (auto constant = op->getOperand(0).getDefiningOp<ConstantOp>())
    return ConstantOp::create(builder, op->getLoc(), tensorType(op->getResult(0)), constant.getValueAttr());
  if (isa<RenameOp>(op) && op->getOperand(0).getDefiningOp<IndexOp>())
    return IndexOp::create(builder, op->getLoc(), tensorType(op->getResult(0)));
  return {};
}

void tessera::foldSources(ModuleOp module) {
  module.walk([&](Operation *op) {
    Value source = foldIntoSource(op);
    if (!source) return;
    op->getResult(0).replaceAllUsesWith(source);
    op->erase();
  });
}

void tessera::separateStoredConstants(ModuleOp module) {
  auto separate = [](OpOperand &use) {
    Operation *constant = use.get().getDefiningOp<ConstantOp>();
    if (!constant || use.get().hasOneUse()) return;
    OpBuilder builder(constant);
    use.set(builder.clone(*constant)->getResult(0));
  };
  module.walk([&](Operation *op) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      for (OpOperand &use : repeat.getCarriedMutable()) separate(use);
    if (isa<func::ReturnOp, YieldOp>(op))
      for (OpOperand &use : op->getOpOperands()) separate(use);
  });
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

void tessera::sinkWideningCasts(ModuleOp module) {
  SmallVector<CastOp> casts;
  module.walk([&](CastOp cast) { casts.push_back(cast); });
  for (unsigned i = 0; i < casts.size(); ++i) { // new casts are appended
    CastOp cast = casts[i];
    if (!isWidening(cast)) continue;
    for (OpOperand &use : llvm::make_early_inc_range(cast->getUses())) {
      Operation *user = use.getOwner();
      bool movesElements = user->hasTrait<traits::IndexTransform>() || isa<ReorderOp>(user);
      if (!movesElements || use.getOperandNumber() != 0) continue;
      OpBuilder builder(user->getContext());
      builder.setInsertionPointAfter(user);
      Value moved = user->getResult(0);
      auto widened = CastOp::create(builder, user->getLoc(), moved.getType(), moved);
      copyNotes(user, widened);
      moved.replaceAllUsesExcept(widened, widened);
      use.set(cast.getX());
      moved.setType(tensorType(moved).withElementType(cast.getX().getType().getElementType()));
      casts.push_back(widened);
    }
    if (cast->use_empty()) cast->erase();
  }
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

void tessera::expandSmallContractions(ModuleOp module) {
  module.walk([&](ContractOp op) {
    if (describeGemm(op)) return;
    OpBuilder builder(op);
    // The product is not stored; its order determines the loops.
    NamedTensorType lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
    if (lhs.getNumElements() < rhs.getNumElements()) std::swap(lhs, rhs);
    SmallVector<AxisAttr> axes;
    for (AxisAttr axis : rhs.getAxes())
      if (!lhs.hasAxis(axis.getName())) axes.push_back(axis);
    axes.append(lhs.getAxes().begin(), lhs.getAxes().end());
    // Low-precision elements are multiplied and accumulated in f32.
    Type element = op.getType().getElementType(), wide = element;
    if (lhs.getElementType() != element || element.getIntOrFloatBitWidth() < 32) wide = builder.getF32Type();
    auto cast = [&](Value value, Type to) -> Value {
      NamedTensorType type = tensorType(value);
      if (type.getElementType() == to) return value;
      return CastOp::create(builder, op.getLoc(), type.withElementType(to), value);
    };
    auto product = MulOp::create(builder, op.getLoc(), lhs.withAxes(axes).withElementType(wide),
                                 cast(op.getLhs(), wide), cast(op.getRhs(), wide));
    auto sum = ReduceOp::create(builder, op.getLoc(), op.getType().withElementType(wide), ReduceKind::Sum, product,
                                op.getOver());
    copyNotes(op, product), copyNotes(op, sum);
    op.getResult().replaceAllUsesWith(cast(sum.getResult(), element));
    op.erase();
  });
}

/// An operand of an addition, if it is a contraction of the sum's type that has no other use.
static ContractOp contractionAddedBy(AddOp add, unsigned operand) {
  auto contract = add->getOperand(operand).getDefiningOp<ContractOp>();
  if (!contract || !contract->hasOneUse() || contract.getType() != add.getResult().getType()) return {};
  return contract;
}

/// Whether the addition is the last use of `x`, so that the sum may have its storage.
static bool isLastUse(Value x, AddOp add) {
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    return user == add || (user->getBlock() == add->getBlock() && user->isBeforeInBlock(add) && !isStorageView(user));
  });
}

/// Whether `x` is a carried argument of the enclosing repeat, and the sum is its next value.
static bool isCarriedSum(Value x, AddOp add) {
  auto repeat = dyn_cast<RepeatOp>(add->getParentOp());
  if (!repeat || !llvm::is_contained(repeat.getCarriedArgs(), x) || !add.getResult().hasOneUse()) return false;
  return repeat.getYield().getValues()[cast<BlockArgument>(x).getArgNumber() - 1] == add.getResult();
}

/// Whether a kernel would use the sum without storing it.
static bool isUsedByKernels(AddOp add) {
  return llvm::any_of(add.getResult().getUsers(),
                      [](Operation *user) { return user->hasTrait<traits::MayBeInKernel>() && !isStorageView(user); });
}

/// Whether the contraction should add to `x` in place. `x` is an accumulator that the repeat carries, or another
/// contraction. Or it is a residual stream that a kernel has written and no op reads afterwards, if the sum would
/// otherwise need a kernel.
static bool isAccumulator(Value x, AddOp add) {
  if (x.getType() != add.getResult().getType() || !isLastUse(x, add)) return false;
  if (x.getDefiningOp<ContractOp>()) return x.hasOneUse();
  if (isCarriedSum(x, add)) return true;
  Operation *producer = x.getDefiningOp();
  return producer && producer->getBlock() == add->getBlock() && isa<ElementwiseOpInterface>(producer) &&
         !isRecomputed(producer) && !isUsedByKernels(add);
}

namespace {
/// Biases rounded to low-precision types. Each is rounded once, outside the repeats that slice it or have it as an
/// invariant.
class RoundedBiases {
public:
  Value get(Value bias, Type type) {
    if (Value known = rounded.lookup({bias, type})) return known;
    Value result = round(bias, type); // may insert other entries
    return rounded[{bias, type}] = result;
  }

private:
  Value round(Value bias, Type type) {
    if (auto argument = dyn_cast<BlockArgument>(bias)) {
      auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
      // Sliced and invariant arguments follow the index and the carried ones.
      if (repeat && argument.getArgNumber() > repeat.getCarried().size())
        return addLike(repeat, argument, get(repeat->getOperand(argument.getArgNumber() - 1), type));
    }
    // Joined biases are rounded already.
    if (auto cast = bias.getDefiningOp<CastOp>(); cast && isWidening(cast))
      if (cast.getX().getType().getElementType() == type) return cast.getX();
    OpBuilder builder(bias.getContext());
    builder.setInsertionPointAfterValue(bias);
    auto cast = CastOp::create(builder, bias.getLoc(), tensorType(bias).withElementType(type), bias);
    if (Operation *op = bias.getDefiningOp()) copyNotes(op, cast);
    return cast;
  }

  llvm::DenseMap<std::pair<Value, Type>, Value> rounded;
};
} // namespace

/// The type in which the target's library adds a bias to `contract`; null if it cannot. cuBLASLt only takes biases of
/// the result's type. So if the only use of the sum is a rounding to the operands' type, the bias is rounded too.
static Type biasTypeFor(ContractOp contract, AddOp add) {
  Type sum = add.getType().getElementType(), operand = contract.getLhs().getType().getElementType();
  if (!Target::of(contract).library.roundsBiases || operand == sum) return sum;
  if (contract.getInit() || staysInF32(contract) || staysInF32(add)) return {};
  auto cast = add.getResult().hasOneUse() ? dyn_cast<CastOp>(*add.getResult().getUsers().begin()) : CastOp();
  return cast && cast.getType().getElementType() == operand ? operand : Type();
}

static bool absorb(AddOp add, RoundedBiases &roundedBiases) {
  for (unsigned side : {1u, 0u}) {
    ContractOp contract = contractionAddedBy(add, side);
    if (!contract) continue;
    Value other = add->getOperand(1 - side);
    ContractTypes types = contractTypes(contract);
    bool asInit = !contract.getInit() && isAccumulator(other, add);
    bool asBias = false;
    Type biasType = biasTypeFor(contract, add);
    if (!asInit && !contract.getBias() && biasType) {
      types.bias = tensorType(other);
      asBias =
          types.bias.getRank() < types.result.getRank() && types.bias.getElementType() == types.result.getElementType();
      types.bias = types.bias.withElementType(biasType), types.result = types.result.withElementType(biasType);
      asBias = asBias && describeGemm(types).has_value();
    }
    if (!asInit && !asBias) continue;
    if (asBias && biasType != tensorType(other).getElementType()) other = roundedBiases.get(other, biasType);
    contract->moveBefore(add); // `other` may be defined after it
    (asInit ? contract.getInitMutable() : contract.getBiasMutable()).assign(other);
    add.getResult().replaceAllUsesWith(contract.getResult());
    add.erase();
    return true;
  }
  return false;
}

/// The gradient of an embedding table that is also a weight matrix: the scatter adds to the contraction's result.
static bool absorbIntoScatter(AddOp add) {
  for (unsigned side : {1u, 0u}) {
    auto scatter = add->getOperand(side).getDefiningOp<ScatterAddOp>();
    Value other = add->getOperand(1 - side);
    bool isSole = scatter && scatter.getResult().hasOneUse() && !scatter.getInit() &&
                  scatter.getType() == add.getResult().getType();
    if (!isSole || other.getType() != scatter.getType() || !isLastUse(other, add)) continue;
    if (!isCarriedSum(other, add) && !isa_and_nonnull<ContractOp, RepeatOp>(other.getDefiningOp())) continue;
    scatter->moveBefore(add);
    scatter.getInitMutable().assign(other);
    add.getResult().replaceAllUsesWith(scatter.getResult());
    add.erase();
    return true;
  }
  return false;
}

void tessera::absorbAdditions(ModuleOp module) {
  SmallVector<AddOp> additions;
  module.walk([&](AddOp add) { additions.push_back(add); });
  RoundedBiases roundedBiases;
  for (AddOp add : additions)
    if (!absorb(add, roundedBiases)) absorbIntoScatter(add);
}

void tessera::absorbRoundings(ModuleOp module) {
  module.walk([](CastOp cast) {
    auto contract = cast.getX().getDefiningOp<ContractOp>();
    if (!contract || !contract->hasOneUse() || contract.getInit()) return;
    if (cast.getType().getElementType() != contract.getLhs().getType().getElementType()) return;
    if (cast.getType().getAllocated() != contract.getType().getAllocated()) return; // the GEMM's rows are aligned
    ContractTypes types = contractTypes(contract);
    types.result = cast.getType();
    if (!describeGemm(types)) return;
    contract.getResult().setType(cast.getType());
    cast.replaceAllUsesWith(contract.getResult());
    cast.erase();
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The axes that the second reduction sums over: the outermost reduced ones, no more than give enough sums.
static SmallVector<StringRef> outerReducedAxes(ReduceOp op, int64_t fewParts) {
  NamedTensorType type = op.getX().getType();
  int64_t parts = op.getType().getNumElements();
  SmallVector<StringRef> over = names(op.getOver()), outer;
  for (AxisAttr axis : type.getAxes()) {
    if (parts >= fewParts || outer.size() + 1 == over.size()) break;
    if (!llvm::is_contained(over, axis.getName())) continue;
    outer.push_back(axis.getName());
    parts *= axis.getSize();
  }
  return outer;
}

/// Splits the only axis that a reduction sums over in two, so that there is an outer one. The operand is
/// viewed with both. False if no size fits, or if there is no such view.
static bool splitReducedAxis(OpBuilder &builder, ReduceOp op) {
  NamedTensorType type = op.getX().getType();
  StringRef name = names(op.getOver()).front();
  int64_t size = type.getSize(name), outer = 0;
  for (int64_t candidate : {64, 60, 48, 40, 32, 50, 30, 24, 20, 16, 10, 9, 8, 7})
    if (size % candidate == 0 && !outer) outer = candidate;
  if (!outer) return false;
  auto isTaken = [&](StringRef n) { return type.hasAxis(n); };
  std::string outerName = freshName((name + "_outer").str(), "_outer", isTaken),
              innerName = freshName((name + "_inner").str(), "_inner", isTaken);
  SmallVector<AxisAttr> axes;
  for (AxisAttr axis : type.getAxes()) {
    if (axis.getName() != name) {
      axes.push_back(axis);
      continue;
    }
    axes.push_back(tessera::axis(op.getContext(), outerName, outer));
    axes.push_back(tessera::axis(op.getContext(), innerName, size / outer));
  }
  ArrayAttr parts = builder.getStrArrayAttr({outerName, innerName});
  auto split =
      SplitOp::create(builder, op.getLoc(), type.withAxes(axes), op.getX(), builder.getStringAttr(name), parts);
  std::optional<NamedTensorType> view = viewType(split, type);
  if (!view) return split.erase(), false;
  split.getResult().setType(*view);
  op.getXMutable().assign(split);
  op.setOverAttr(parts);
  return true;
}

static void splitReduction(ReduceOp op, const Target &target) {
  int64_t parts = op.getType().getNumElements(), part = op.getX().getType().getNumElements() / parts;
  if (parts >= target.fewSums || part < target.longSum) return;
  OpBuilder builder(op);
  // An axis is split only if there is no other one, since that needs an operand in memory.
  if (op.getOver().size() == 1) {
    if (op.getX().getDefiningOp() && !isa<ContractOp, RepeatOp>(op.getX().getDefiningOp())) return;
    if (!splitReducedAxis(builder, op)) return;
  }
  SmallVector<StringRef> outer = outerReducedAxes(op, target.fewSums);
  if (outer.empty()) return;
  NamedTensorType type = op.getX().getType();
  SmallVector<StringRef> first =
      llvm::filter_to_vector(names(op.getOver()), [&](StringRef n) { return !llvm::is_contained(outer, n); });
  auto axes =
      llvm::filter_to_vector(type.getAxes(), [&](AxisAttr a) { return !llvm::is_contained(first, a.getName()); });
  auto partial = ReduceOp::create(builder, op.getLoc(), type.withAxes(axes), op.getKind(), op.getX(),
                                  builder.getStrArrayAttr(first));
  copyNotes(op, partial);
  op.getXMutable().assign(partial.getResult());
  op.setOverAttr(builder.getStrArrayAttr(outer));
}

void tessera::splitLargeReductions(ModuleOp module) {
  SmallVector<ReduceOp> reductions;
  module.walk([&](ReduceOp op) { reductions.push_back(op); });
  Target target = Target::of(module);
  for (ReduceOp op : reductions) splitReduction(op, target);
}
