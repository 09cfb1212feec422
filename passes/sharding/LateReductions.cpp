//===- LateReductions.cpp - fewer reductions over mesh axes ---------------===//
//
// A sum over mesh axes commutes with linear ops. A value that such ops compute from nothing but sums over the same mesh
// axes, which nothing else reads, is one sum of *parts*: the value that the same ops compute from what is summed.
//
// 1. Sums that are added to each other become the sum of their parts, also if other values are added in between.
// 2. A sum that is reduced over axes of its own too is reduced over those first. It may be stacked by a repeat, as the
//    losses of micro-batches are.
// 3. A repeat that adds such a sum to what it carries, beginning with zeros, carries the parts, and the sum follows it.
//    What is added may be stacked by a repeat inside: the gradients of layers in each micro-batch.
//
// In the order of the ops, those of a repeat before the repeat, so that the result of one step is there for the next.
// Else the sums of a repeat stay where they are: those of one layer can be exchanged while the next is computed.
//
// Sums in a tree stay what they are.
//
// Parts of sums that are rounded to bf16 or f16 are not rounded: there is one rounding, of the last sum.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/LateReductions.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"
#include "passes/sharding/LinearOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

static bool isWideFloat(Type element) { return isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 32; }

/// Erases an op that nothing reads, and what only it read. Repeats stay.
static void eraseDead(Operation *first) {
  llvm::SetVector<Operation *> left; // an op in it is not erased yet
  if (first) left.insert(first);
  while (!left.empty()) {
    Operation *op = left.pop_back_val();
    if (!op->use_empty() || isa<RepeatOp>(op)) continue;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp()) left.insert(maker);
    op->erase();
  }
}

namespace {
/// A value as a sum over mesh axes.
class SumOfParts {
public:
  /// `accumulator`: an argument of a repeat that counts as such a sum itself, since it will have the parts.
  explicit SumOfParts(const ProgramMesh &mesh, BlockArgument accumulator = {}) : mesh(mesh), accumulator(accumulator) {}

  /// Whether what an op of one result computes is one; with `mayBeStacked` of what repeats stack.
  bool isSum(Operation *op, bool mayBeStacked);
  /// The parts of the result of such an op, built where the ops are. The op itself stays.
  Value parts(Operation *op);

  ArrayRef<StringRef> getMeshAxes() const { return over; }
  bool hasAccumulator() const { return accumulates; }
  /// Of the sum that was found first.
  Location getLoc() const { return *location; }

private:
  bool isSum(Value value);
  bool isSumWithoutAccumulator(Value value) {
    bool before = accumulates;
    return isSum(value) && accumulates == before;
  }
  bool isSumOverMesh(ReduceOp reduce);
  bool commutes(Operation *reshape) const;
  bool hasNoneOf(Value value) const {
    return llvm::none_of(over, [&](StringRef axis) { return tensorType(value).hasAxis(axis); });
  }

  Value parts(Value value);
  Value partsOfReshape(Operation *reshape);
  Value partsOfStack(OpResult stacked);

  const ProgramMesh &mesh;
  BlockArgument accumulator;
  SmallVector<StringRef> over; ///< empty until a sum is found
  std::optional<Location> location;
  bool accumulates = false;
  bool mayBeStacked = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is a sum
//===----------------------------------------------------------------------===//

/// Over mesh axes alone, those of other sums if there are any.
bool SumOfParts::isSumOverMesh(ReduceOp reduce) {
  SmallVector<StringRef> axes = names(reduce.getOver());
  if (llvm::any_of(axes, [&](StringRef axis) { return !mesh.has(axis); })) return false;
  if (over.empty()) over = axes, location = reduce.getLoc();
  return over == axes;
}

/// A change of shape that leaves mesh axes alone, or is taking one's own part: less is summed then. A sum that is
/// divided along its own mesh axis is a reduce-scatter, and a value that is gathered is summed before.
bool SumOfParts::commutes(Operation *reshape) const {
  auto before = tensorType(reshape->getOperand(0)), after = tensorType(reshape->getResult(0));
  return llvm::all_of(mesh.getAxes(), [&](AxisAttr axis) {
    StringRef name = axis.getName();
    if (before.hasAxis(name)) return after.hasAxis(name);
    return !after.hasAxis(name) || !llvm::is_contained(over, name);
  });
}

bool SumOfParts::isSum(Value value) {
  if (!value.hasOneUse()) return false;
  if (value == accumulator) return accumulates = true;
  auto repeat = value.getDefiningOp<RepeatOp>();
  if (!repeat) return value.getDefiningOp() && isSum(value.getDefiningOp(), mayBeStacked);
  unsigned number = cast<OpResult>(value).getResultNumber();
  return mayBeStacked && number >= repeat.getCarried().size() &&
         isSumWithoutAccumulator(repeat.getYield().getValues()[number]);
}

bool SumOfParts::isSum(Operation *op, bool withStacks) {
  mayBeStacked = withStacks;
  SmallVector<Value, 2> summed = summedOperands(op);
  if (summed.empty()) return false;
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    bool isOwn = llvm::none_of(names(reduce.getOver()), [&](StringRef axis) { return mesh.has(axis); });
    if (!isOwn) return isSumOverMesh(reduce);
  }
  if (isa<AddOp, SelectOp>(op)) {
    auto select = dyn_cast<SelectOp>(op);
    return llvm::all_of(summed, [&](Value value) { return isSum(value); }) &&
           (!select || hasNoneOf(select.getCondition()));
  }
  bool isReshape = isa<RenameOp, SplitOp, MergeOp, PadOp, SliceOp>(op);
  return isSumWithoutAccumulator(summed.front()) && (!isReshape || commutes(op));
}

//===----------------------------------------------------------------------===//
// Its parts
//===----------------------------------------------------------------------===//

Value SumOfParts::partsOfReshape(Operation *reshape) {
  Value x = parts(reshape->getOperand(0));
  GraphBuilder b(reshape);
  IRMapping map;
  map.map(reshape->getOperand(0), x);
  Operation *clone = b.clone(*reshape, map);
  NamedTensorType type = tensorType(reshape->getResult(0)).withElementType(tensorType(x).getElementType());
  for (StringRef axis : over) type = b.withAxis(type, tessera::axis(b.getContext(), axis, mesh.size(axis)));
  clone->getResult(0).setType(type);
  return clone->getResult(0);
}

/// The repeat stacks the parts instead.
Value SumOfParts::partsOfStack(OpResult stacked) {
  auto repeat = cast<RepeatOp>(stacked.getOwner());
  YieldOp yield = repeat.getYield();
  Value yielded = yield.getValues()[stacked.getResultNumber()];
  Value inside = parts(yielded);
  yield->setOperand(stacked.getResultNumber(), inside);
  eraseDead(yielded.getDefiningOp());
  stacked.setType(GraphBuilder(repeat).withAxis(tensorType(inside), repeat.getAxis()));
  return stacked;
}

Value SumOfParts::parts(Value value) {
  if (value == accumulator) return value;
  if (auto result = dyn_cast<OpResult>(value); isa<RepeatOp>(result.getOwner())) return partsOfStack(result);
  return parts(value.getDefiningOp());
}

Value SumOfParts::parts(Operation *op) {
  auto element = [](Value value) { return tensorType(value).getElementType(); };
  auto widened = [&](GraphBuilder &b, Value value, Type type) {
    bool isWider = type.getIntOrFloatBitWidth() > element(value).getIntOrFloatBitWidth();
    return isWider ? b.cast(value, type) : value;
  };
  GraphBuilder b(op);
  Value made = llvm::TypeSwitch<Operation *, Value>(op)
                   .Case([&](ReduceOp reduce) -> Value {
                     if (mesh.has(names(reduce.getOver()).front())) return reduce.getX();
                     return b.sum(widened(b, parts(reduce.getX()), b.getF32Type()), names(reduce.getOver()));
                   })
                   .Case([&](AddOp add) {
                     Value lhs = parts(add.getLhs()), rhs = parts(add.getRhs());
                     Value wide = widened(b, lhs, element(rhs));
                     return b.add(wide, widened(b, rhs, element(wide)));
                   })
                   .Case([&](MulOp mul) {
                     return b.mul(parts(mul.getLhs()), mul.getRhs().getDefiningOp<ConstantOp>().getNumber());
                   })
                   .Case([&](CastOp cast) { return widened(b, parts(cast.getX()), element(cast.getResult())); })
                   .Case([&](SelectOp select) {
                     Value yes = parts(select.getYes());
                     return b.select(select.getCondition(), yes, b.scalar(0, element(yes)));
                   })
                   .Default([&](Operation *reshape) { return partsOfReshape(reshape); });
  if (Operation *maker = made.getDefiningOp(); maker && maker != op) copyNotes(op, maker), copyPrecision(op, maker);
  return made;
}

//===----------------------------------------------------------------------===//
// Where sums are delayed
//===----------------------------------------------------------------------===//

/// The sum of parts over mesh axes, at the line of a sum before, with the notes of an op that computed it.
static Value sumOver(GraphBuilder &b, Value parts, const SumOfParts &before, Operation *like) {
  b.setLoc(before.getLoc());
  Value sum = b.sum(parts, before.getMeshAxes());
  copyNotes(like, sum.getDefiningOp()), copyPrecision(like, sum.getDefiningOp());
  return sum;
}

/// 1., 2.
static bool delayBehind(Operation *op, const ProgramMesh &mesh) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && llvm::any_of(names(reduce.getOver()), [&](StringRef axis) { return mesh.has(axis); })) return false;
  SumOfParts sum(mesh);
  if (!sum.isSum(op, /*mayBeStacked=*/reduce != nullptr)) return false;
  Value parts = sum.parts(op);
  GraphBuilder b(op);
  Value whole = sumOver(b, parts, sum, op);
  op->replaceAllUsesWith(ValueRange(b.cast(whole, tensorType(op->getResult(0)).getElementType())));
  eraseDead(op);
  return true;
}

/// 1., where other values are added in between: a + sum p + b + sum q is a + b + sum (p + q).
static void delayBeyondOthers(AddOp add, const ProgramMesh &mesh) {
  auto sumOf = [&](Value value, SumOfParts &sum) {
    Operation *op = value.getDefiningOp();
    return op && value.getType() == add.getType() && value.hasOneUse() && !isa<RepeatOp>(op) &&
           sum.isSum(op, /*mayBeStacked=*/false);
  };
  SumOfParts last(mesh);
  if (!sumOf(add.getRhs(), last)) return;
  for (auto before = add.getLhs().getDefiningOp<AddOp>();
       before && before->hasOneUse() && before.getType() == add.getType();
       before = before.getLhs().getDefiningOp<AddOp>()) {
    for (auto [value, other] :
         {std::pair(before.getRhs(), before.getLhs()), std::pair(before.getLhs(), before.getRhs())}) {
      SumOfParts earlier(mesh);
      if (!sumOf(value, earlier) || earlier.getMeshAxes() != last.getMeshAxes() || other.getType() != add.getType())
        continue;
      before.replaceAllUsesWith(Value(other));
      GraphBuilder b(add);
      Value sums = b.add(value, add.getRhs()), total = b.add(add.getLhs(), sums);
      before->erase();
      for (Value made : {sums, total}) copyNotes(add, made.getDefiningOp()), copyPrecision(add, made.getDefiningOp());
      add.replaceAllUsesWith(total);
      add->erase();
      delayBehind(sums.getDefiningOp(), mesh);
      return;
    }
  }
}

/// 3., of one carried value.
static void carryParts(RepeatOp repeat, unsigned number, const ProgramMesh &mesh) {
  BlockArgument argument = repeat.getBlock().getArgument(1 + number);
  YieldOp yield = repeat.getYield();
  Operation *next = yield.getValues()[number].getDefiningOp();
  Type element = tensorType(argument).getElementType();
  SumOfParts sum(mesh, argument);
  if (!isWideFloat(element) || !isKnownZero(repeat.getCarried()[number]) || !next || !next->hasOneUse() ||
      isa<RepeatOp>(next) || !sum.isSum(next, /*mayBeStacked=*/true) || !sum.hasAccumulator() ||
      sum.getMeshAxes().empty())
    return;
  GraphBuilder b(repeat);
  NamedTensorType type = tensorType(argument);
  for (StringRef axis : sum.getMeshAxes())
    type = b.withAxis(type, tessera::axis(b.getContext(), axis, mesh.size(axis)));
  Value before = repeat.getCarried()[number];
  repeat->setOperand(number, b.constant(0, type));
  eraseDead(before.getDefiningOp());
  argument.setType(type);
  Value parts = sum.parts(next);
  b.setInsertionPoint(yield);
  yield->setOperand(number, b.cast(parts, element));
  OpResult result = repeat->getResult(number);
  result.setType(type);
  b.setInsertionPointAfter(repeat);
  Value whole = sumOver(b, result, sum, next);
  result.replaceAllUsesExcept(whole, whole.getDefiningOp());
  eraseDead(next);
}

void tessera::delayReductions(func::FuncOp function, const ProgramMesh &mesh) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<AddOp, ReduceOp, RepeatOp>(op)) ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      for (unsigned number = 0; number < repeat.getCarried().size(); ++number) carryParts(repeat, number, mesh);
    } else if (auto add = dyn_cast<AddOp>(op); !delayBehind(op, mesh) && add) {
      delayBeyondOthers(add, mesh);
    }
  }
}
