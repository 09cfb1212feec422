//===- TreeSums.cpp - the driver of `tsr-tree-sums` -----------------------===//
//
// 1. A repeat whose stacked results are summed in trees becomes nested repeats: the innermost runs four iterations and
//    stacks what they compute, those around it run two and add up what each computes.
//
//      before   %g = tsr.repeat [micro: 16] …                        %g: [micro: 16, embed]
//               %s = tsr.reduce sum %g over [micro]   {tsr.tree}
//      after    %s = tsr.repeat [micro_2: 2] carry (%a = -0) … {
//                 %t = tsr.repeat [micro_4: 2] carry (%b = -0) … {
//                   %g = tsr.repeat [micro: 4] …                     %g: [micro: 4, embed]
//                   %u = (%g at 0 + %g at 1) + (%g at 2 + %g at 3)
//                   tsr.yield %b + %u
//                 }
//                 tsr.yield %a + %t
//               }
//
//    Four terms in one pass over memory cost less than three additions, and their stack takes no more memory than two
//    stacks of two. -0 plus anything is that, whatever the sign of a zero. The innermost repeat stays if it has one
//    iteration: a leaf is a region of its own on every mesh, and what the phases make of its ops does not depend on
//    what is around it.
// 2. Other sums in trees, of what came from the ranks, are additions.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_TREESUMSPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The iterations of an innermost repeat.
static constexpr int64_t mostStacked = 4;

/// One of the terms along an axis.
static Value termAt(GraphBuilder &b, Value terms, StringRef axis, int64_t position) {
  NamedTensorType type = tensorType(terms);
  if (type.getSize(axis) == 1) // a view
    for (AxisAttr other : type.getAxes())
      if (other.getName() != axis) return b.merge(terms, {axis, other.getName()}, other.getName());
  return b.gather(terms, axis, b.scalar(static_cast<double>(position), b.getI32Type()));
}

/// The terms along an axis of a value, added in a tree, for an op that this replaces.
static Value addInTree(GraphBuilder &b, Value terms, StringRef axis, Operation *like) {
  SmallVector<Value> sums;
  for (int64_t i = 0; i < tensorType(terms).getSize(axis); ++i) sums.push_back(termAt(b, terms, axis, i));
  while (sums.size() > 1) {
    SmallVector<Value> pairs;
    for (size_t i = 0; i < sums.size(); i += 2) {
      pairs.push_back(b.add(sums[i], sums[i + 1]));
      copyNotes(like, pairs.back().getDefiningOp());
    }
    sums = std::move(pairs);
  }
  return sums.front();
}

/// The sum in a tree that is all that a stacked result is read for; null if it is read for something else.
static ReduceOp treeSumOf(OpResult stacked) {
  auto reduce = stacked.hasOneUse() ? dyn_cast<ReduceOp>(*stacked.user_begin()) : ReduceOp();
  StringRef axis = cast<RepeatOp>(stacked.getOwner()).getAxis().getName();
  bool isOverIt = reduce && reduce->hasAttr(attrs::tree) && names(reduce.getOver()).front() == axis;
  return isOverIt ? reduce : ReduceOp();
}

namespace {
/// The repeats in place of one.
class NestedRepeat {
public:
  explicit NestedRepeat(RepeatOp repeat) : repeat(repeat), axis(repeat.getAxis().getName()), b(repeat) {}

  void build();

private:
  using Values = SmallVector<Value>;
  void chooseLevels();
  Values buildLevel(size_t level, Values sliced, Values invariants, Value number);
  Values buildBody(ValueRange sliced, ValueRange invariants, Value number);
  Value numberOf(size_t level, Value outer, Value inner);
  Values sumsOf(ValueRange results);
  bool isSummed(size_t result) const { return sums[result] != nullptr; }

  RepeatOp repeat;
  StringRef axis;
  GraphBuilder b;
  SmallVector<ReduceOp> sums;   ///< of each result; null: it stays stacked
  SmallVector<AxisAttr> levels; ///< outermost first
};
} // namespace

/// Two iterations a level, and what is left in the innermost one.
void NestedRepeat::chooseLevels() {
  auto module = repeat->getParentOfType<ModuleOp>();
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  SmallVector<StringRef> taken = declared ? names(declared) : SmallVector<StringRef>();
  int64_t left = repeat.getAxis().getSize();
  for (int64_t level = 2; left > mostStacked; left /= 2, level *= 2) {
    std::string name = freshName((axis + "_" + Twine(level)).str(), "_",
                                 [&](StringRef known) { return llvm::is_contained(taken, known); });
    declareAxis(module, name, axis);
    levels.push_back(tessera::axis(module.getContext(), name, 2));
  }
  levels.push_back(tessera::axis(module.getContext(), axis, left));
  b = GraphBuilder(repeat); // with the new order of axes
}

/// The ops of the body at the insertion point. Returns what it yields.
SmallVector<Value> NestedRepeat::buildBody(ValueRange sliced, ValueRange invariants, Value number) {
  IRMapping map;
  map.map(repeat.getInduction(), number);
  map.map(repeat.getSlicedArgs(), sliced);
  map.map(repeat.getInvariantArgs(), invariants);
  for (Operation &op : repeat.getBlock().without_terminator()) b.clone(op, map);
  return llvm::map_to_vector(repeat.getYield().getValues(), [&](Value value) { return map.lookup(value); });
}

/// The number of an iteration, of those that the levels so far count: null at the outermost.
Value NestedRepeat::numberOf(size_t level, Value outer, Value inner) {
  return outer ? b.add(b.mul(outer, static_cast<double>(levels[level].getSize())), inner) : inner;
}

/// Of the results of the innermost repeat: those that are summed, added; the others as they are.
SmallVector<Value> NestedRepeat::sumsOf(ValueRange results) {
  Values values;
  for (auto [i, result] : llvm::enumerate(results))
    values.push_back(isSummed(i) ? addInTree(b, result, axis, sums[i]) : result);
  return values;
}

/// A level and those inside of it: what is summed, and stacks of what is not, in the order of the results.
SmallVector<Value> NestedRepeat::buildLevel(size_t level, Values sliced, Values invariants, Value number) {
  AxisAttr own = levels[level];
  bool isInnermost = level + 1 == levels.size();
  bool passesNumber = number != nullptr;
  if (passesNumber) invariants.push_back(number);
  Block *body = new Block();
  Location loc = repeat.getLoc();
  Value induction = body->addArgument(repeat.getInduction().getType(), loc);
  Values carried, carriedIn, stackedIn, slicedIn, invariantsIn;
  auto sumArguments = [&] {
    for (auto [i, result] : llvm::enumerate(repeat.getResults())) {
      if (isInnermost || !isSummed(i)) continue;
      NamedTensorType type = sums[i].getType();
      carried.push_back(b.constant(-0.0, type));
      carriedIn.push_back(body->addArgument(type, loc));
    }
  };
  sumArguments();
  for (Value value : sliced) slicedIn.push_back(body->addArgument(tensorType(value).withoutAxis(own.getName()), loc));
  for (Value value : invariants) invariantsIn.push_back(body->addArgument(value.getType(), loc));
  Values results;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(body);
    Value inside = numberOf(level, passesNumber ? invariantsIn.pop_back_val() : Value(), induction);
    results =
        isInnermost ? buildBody(slicedIn, invariantsIn, inside) : buildLevel(level + 1, slicedIn, invariantsIn, inside);
    Values yielded;
    for (auto [i, value] : llvm::enumerate(results))
      if (!isInnermost && isSummed(i)) {
        yielded.push_back(b.add(carriedIn[yielded.size()], value));
        copyNotes(sums[i], yielded.back().getDefiningOp());
      }
    for (auto [i, value] : llvm::enumerate(results))
      if (isInnermost || !isSummed(i)) yielded.push_back(value);
    YieldOp::create(b, loc, yielded);
  }
  SmallVector<Type> types(ValueRange(carried).getTypes());
  for (Value value : body->getTerminator()->getOperands().drop_front(carried.size()))
    types.push_back(b.withAxis(tensorType(value), own));
  auto made = RepeatOp::create(b, loc, types, own, repeat.getReverseAttr(), carried, sliced, invariants, ArrayAttr());
  made->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  if (!isInnermost) made->removeAttr(attrs::tree);
  made.getBody().push_back(body);
  if (isInnermost) return sumsOf(made.getResults());
  Values inOrder;
  size_t nextSum = 0, nextStack = carried.size();
  for (size_t i = 0; i < results.size(); ++i) inOrder.push_back(made.getResult(isSummed(i) ? nextSum++ : nextStack++));
  return inOrder;
}

void NestedRepeat::build() {
  for (OpResult result : repeat.getResults()) sums.push_back(treeSumOf(result));
  chooseLevels();
  Values sliced;
  for (Value operand : repeat.getSliced())
    sliced.push_back(levels.size() == 1 ? operand : b.split(operand, axis, levels));
  Values results = buildLevel(0, sliced, Values(repeat.getInvariants()), Value());
  SmallVector<StringRef> all = llvm::map_to_vector(levels, [](AxisAttr level) { return level.getName(); });
  for (auto [i, value] : llvm::enumerate(results)) {
    if (isSummed(i)) {
      sums[i].replaceAllUsesWith(value);
      sums[i].erase();
    } else {
      repeat.getResult(i).replaceAllUsesWith(all.size() == 1 ? value : b.merge(value, all, axis));
    }
  }
  repeat.erase();
}

namespace {
struct TreeSumsPass : tessera::impl::TreeSumsPassBase<TreeSumsPass> {
  void runOnOperation() override {
    SmallVector<RepeatOp> repeats;
    SmallVector<ReduceOp> sums;
    auto isSummed = [](OpResult result) { return treeSumOf(result) != nullptr; };
    getOperation().walk([&](RepeatOp repeat) {
      if (repeat.getCarried().empty() && llvm::any_of(repeat.getResults(), isSummed)) repeats.push_back(repeat);
    });
    for (RepeatOp repeat : repeats) NestedRepeat(repeat).build(); // 1.
    getOperation().walk([&](ReduceOp reduce) {
      if (reduce->hasAttr(attrs::tree)) sums.push_back(reduce);
    });
    for (ReduceOp sum : sums) { // 2.
      GraphBuilder b(sum);
      Value all = addInTree(b, sum.getX(), names(sum.getOver()).front(), sum);
      sum.replaceAllUsesWith(all);
      sum.erase();
    }
  }
};
} // namespace
