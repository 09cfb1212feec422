//===- Leaves.cpp - the driver of `tsr-leaves` ----------------------------===//
//
// In each function with leaves (sharding/LeafRepeat.h):
//
// 1. Check that no leaf needs the result of another one: what the repeat carries begins with zeros, and each leaf only
//    adds to it.
// 2. Stack what leaves add instead, and sum the stack in a tree.
// 3. Sum in a tree what they stack anyway, such as losses.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "passes/Passes.h"
#include "passes/sharding/LeafRepeat.h"
#include "llvm/Support/MathExtras.h"

namespace tessera {
#define GEN_PASS_DEF_LEAVESPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// What a leaf adds to a carried value that begins with zeros; null if it does something else with it.
static Value termOf(RepeatOp repeat, unsigned carried) {
  auto zero = repeat.getCarried()[carried].getDefiningOp<ConstantOp>();
  BlockArgument sum = repeat.getBlock().getArgument(1 + carried);
  auto add = repeat.getYield().getValues()[carried].getDefiningOp<AddOp>();
  if (!zero || zero.getNumber() != 0 || !add || !add->hasOneUse() || !sum.hasOneUse()) return {};
  if (add.getLhs() == sum) return add.getRhs();
  return add.getRhs() == sum ? Value(add.getLhs()) : Value();
}

/// What a repeat carries, in the user's words.
static std::string nameOfCarried(RepeatOp repeat, unsigned carried) {
  Value start = repeat.getCarried()[carried];
  auto function = repeat->getParentOfType<func::FuncOp>();
  if (auto argument = dyn_cast<BlockArgument>(start))
    if (StringRef state = argumentState(function, argument.getArgNumber()); !state.empty())
      return "the state `" + state.str() + "`";
  return "what micro-batches hand on";
}

namespace {
class LeafSums {
public:
  explicit LeafSums(RepeatOp repeat) : repeat(repeat), axis(repeat.getAxis().getName()), b(repeat) {}

  /// 1., 2., 3. Returns what is wrong with the program; empty if nothing is.
  std::string build();

private:
  std::string stackTerms();
  Value treeSum(Value stack, Type element);
  SmallVector<ReduceOp> plainSums();
  void sumInTree(ReduceOp reduce);
  std::string problemOfOtherSums();

  RepeatOp repeat;
  StringRef axis;
  GraphBuilder b;
};
} // namespace

/// Of what is stacked along the leaves. Sums in reduced precision are rounded once, at the end.
Value LeafSums::treeSum(Value stack, Type element) {
  Value sum = b.sum(stack, axis);
  sum.getDefiningOp()->setAttr(attrs::tree, b.getUnitAttr());
  return b.cast(sum, element);
}

/// 1., 2.
std::string LeafSums::stackTerms() {
  unsigned carried = repeat.getCarried().size();
  SmallVector<Value> terms;
  for (unsigned i = 0; i < carried; ++i) {
    terms.push_back(termOf(repeat, i));
    if (!terms.back())
      return "each leaf would need " + nameOfCarried(repeat, i) +
             " as the one before hands it on, but leaves are independent of each other: leave out --leaves";
  }
  YieldOp yield = repeat.getYield();
  SmallVector<Operation *> additions;
  for (unsigned i = 0; i < carried; ++i) additions.push_back(yield.getValues()[i].getDefiningOp());
  b.setInsertionPoint(yield);
  for (Value &term : terms) {
    Type element = tensorType(term).getElementType();
    if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32) term = b.cast(term, b.getF32Type());
  }
  SmallVector<Value> yielded = terms;
  llvm::append_range(yielded, yield.getValues().drop_front(carried));
  yield.getValuesMutable().assign(yielded);
  for (Operation *add : additions) add->erase();
  repeat.getBlock().eraseArguments(1, carried);

  b.setInsertionPoint(repeat);
  SmallVector<Type> types;
  for (Value value : yielded) types.push_back(b.withAxis(tensorType(value), repeat.getAxis()));
  auto stacking = RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverseAttr(), ValueRange(),
                                   repeat.getSliced(), repeat.getInvariants(), ArrayAttr());
  stacking->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  stacking->setAttr(attrs::tree, b.getUnitAttr());
  stacking.getBody().takeBody(repeat.getBody());
  b.setInsertionPointAfter(stacking);
  for (auto [i, result] : llvm::enumerate(repeat.getResults())) {
    Value stack = stacking.getResult(i);
    NamedTensorType type = tensorType(result); // a term may lack axes of the sum
    result.replaceAllUsesWith(i < carried ? b.broadcast(treeSum(stack, type.getElementType()), type) : stack);
  }
  repeat.erase();
  repeat = stacking;
  return "";
}

/// The sums of floats over leaves that are not in a tree.
SmallVector<ReduceOp> LeafSums::plainSums() {
  SmallVector<ReduceOp> sums;
  for (Operation *user : repeat->getUsers()) {
    auto reduce = dyn_cast<ReduceOp>(user);
    bool isSum = reduce && reduce.getKind() == ReduceKind::Sum && llvm::is_contained(names(reduce.getOver()), axis);
    if (isSum && isa<FloatType>(reduce.getType().getElementType()) && !reduce->hasAttr(attrs::tree))
      sums.push_back(reduce);
  }
  return sums;
}

/// 3. Other axes of a sum are summed in each leaf.
void LeafSums::sumInTree(ReduceOp reduce) {
  Type element = reduce.getType().getElementType();
  Value stack = reduce.getX();
  b.setLoc(reduce.getLoc());
  SmallVector<StringRef> others =
      llvm::filter_to_vector(names(reduce.getOver()), [&](StringRef name) { return name != axis; });
  bool isNarrow = element.getIntOrFloatBitWidth() < 32;
  if (!others.empty() || isNarrow) {
    Value term = repeat.getYield().getValues()[cast<OpResult>(stack).getResultNumber()];
    b.setInsertionPoint(repeat.getYield());
    repeat = addStacked(repeat, b.sum(isNarrow ? b.cast(term, b.getF32Type()) : term, others));
    stack = repeat->getResults().back();
  }
  b.setInsertionPoint(reduce);
  Value sum = treeSum(stack, element);
  copyNotes(reduce, sum.getDefiningOp());
  reduce.replaceAllUsesWith(sum);
  reduce.erase();
}

/// What else adds up floats over leaves would do so in an order that depends on the ranks.
std::string LeafSums::problemOfOtherSums() {
  std::string problem;
  repeat->getParentOfType<func::FuncOp>().walk([&](DivisibleOpInterface op) {
    bool isFloat = llvm::any_of(op->getResultTypes(),
                                [](Type type) { return isa<FloatType>(cast<NamedTensorType>(type).getElementType()); });
    bool isKnown = op->hasAttr(attrs::tree) || op->getParentOfType<RepeatOp>() == repeat;
    if (isFloat && !isKnown && op.getDivision(axis).isCombined(ReduceKind::Sum)) {
      StringRef name = userName(op);
      problem = "leaves would be added in another way than in a tree" +
                (name.empty() ? "" : ", by `" + name.str() + "`") + ": leave out --leaves";
    }
  });
  return problem;
}

std::string LeafSums::build() {
  if (std::string problem = stackTerms(); !problem.empty()) return problem;
  for (ReduceOp reduce : plainSums()) sumInTree(reduce);
  return problemOfOtherSums();
}

/// Returns what is wrong with a function, or with what the module says of leaves; empty if nothing is.
static std::string cut(func::FuncOp function) {
  int64_t count = leafCount(function->getParentOfType<ModuleOp>());
  if (count < 2 || !llvm::isPowerOf2_64(count))
    return "expected a power of two for the number of leaves, got " + std::to_string(count);
  if (std::optional<LeafRepeat> leaves = findLeafRepeat(function)) return LeafSums(leaves->repeat).build();
  return "the batch of `" + function.getName().str() + "` is not cut into " + std::to_string(count) + " leaves";
}

namespace {
struct LeavesPass : tessera::impl::LeavesPassBase<LeavesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (func::FuncOp function : functionsWithLeaves(module)) {
      std::string problem = cut(function);
      if (problem.empty()) continue;
      module->setAttr(attrs::problem, StringAttr::get(&getContext(), problem));
      module.emitError(problem);
      return signalPassFailure();
    }
  }
};
} // namespace
