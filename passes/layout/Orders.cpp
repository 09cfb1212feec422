//===- Orders.cpp - which memory order each value gets -----------------------===//

#include "passes/layout/Orders.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/join/JoinedValues.h"
#include "passes/layout/OrderChoice.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;

/// Uses that are considered for a decision at most: it keeps the phase linear in the size of the program.
static constexpr int lookAheadBudget = 48;

namespace {

/// One walk in program order: the results of each op get their order from its operands, whose orders are known.
class OrderPlanner {
public:
  explicit OrderPlanner(ModuleOp module) : module(module), order(module) {}
  LayoutPlan plan();

private:
  void collectRepeatAxes();
  void planFunction(func::FuncOp function);
  void planBlock(Block &block);
  void planOp(Operation *op);
  void planElementwise(Operation *op);
  void planContract(ContractOp op);
  void planGather(GatherOp op);
  void planMerge(MergeOp op);
  void planJoin(JoinOp op);
  void planStart(StartOp op);
  void planWait(WaitOp op);
  void planRepeat(RepeatOp op);
  void planReturn(func::ReturnOp op);
  NamedTensorType orderOfStacked(RepeatOp repeat, Value value) const;

  /// Canonical order, except that the axes of repeats come first: a repeat slices the outermost axis.
  NamedTensorType normal(NamedTensorType type) const;
  NamedTensorType known(Value value) const { return plan_.types.lookup(value); }
  void assign(Value value, NamedTensorType type) { plan_.types[value] = type; }
  /// Requests a reorder if the operand's value has another order.
  void need(OpOperand &use, NamedTensorType type) {
    if (known(use.get()) != type) plan_.reorders.push_back({&use, type});
  }
  /// Reorders the operands of a contraction such that it is a GEMM, given candidates for the result.
  std::optional<NamedTensorType> chooseResult(ContractOp op, const ContractTypes &types);
  /// How well this order suits the uses of `value`.
  int score(Value value, NamedTensorType type, int &budget) const;
  int scoreUse(OpOperand &use, NamedTensorType type, int &budget) const;

  ModuleOp module;
  AxisOrder order;
  SmallVector<StringRef> repeatAxes; ///< outer repeats before inner ones
  LayoutPlan plan_;
};

} // namespace

//===----------------------------------------------------------------------===//
// Normal order
//===----------------------------------------------------------------------===//

void OrderPlanner::collectRepeatAxes() {
  module.walk<WalkOrder::PreOrder>([&](RepeatOp repeat) {
    StringRef name = repeat.getAxis().getName();
    if (!llvm::is_contained(repeatAxes, name)) repeatAxes.push_back(name);
  });
}

NamedTensorType OrderPlanner::normal(NamedTensorType type) const {
  SmallVector<AxisAttr> axes(type.getAxes());
  order.sort(axes);
  return inOrderOf(type.withAxes(axes), repeatAxes);
}

//===----------------------------------------------------------------------===//
// Program structure
//===----------------------------------------------------------------------===//

LayoutPlan OrderPlanner::plan() {
  collectRepeatAxes();
  for (StateOp state : stateTable(module)) plan_.stateTypes[state.getPath()] = normal(state.getTensorType());
  for (func::FuncOp function : entryFunctions(module)) planFunction(function);
  return std::move(plan_);
}

void OrderPlanner::planFunction(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    StringRef path = argumentState(function, argument.getArgNumber());
    assign(argument, path.empty() ? inOrderOf(tensorType(argument), argumentOrder(function, argument.getArgNumber()))
                                  : plan_.stateTypes.lookup(path));
  }
  planBlock(function.getBody().front());
}

void OrderPlanner::planBlock(Block &block) {
  for (Operation &op : block) planOp(&op);
}

void OrderPlanner::planReturn(func::ReturnOp op) {
  auto function = op->getParentOfType<func::FuncOp>();
  for (OpOperand &use : op->getOpOperands()) {
    unsigned i = use.getOperandNumber();
    StringRef path = resultState(function, i);
    auto canonical = cast<NamedTensorType>(function.getResultTypes()[i]);
    need(use, path.empty() ? inOrderOf(canonical, resultOrder(function, i)) : plan_.stateTypes.lookup(path));
  }
}

static NamedTensorType withOutermost(NamedTensorType type, AxisAttr axis) {
  SmallVector<AxisAttr> axes{axis};
  axes.append(type.getAxes().begin(), type.getAxes().end());
  return type.withAxes(axes);
}

static NamedTensorType withoutAxes(NamedTensorType type, ArrayRef<StringRef> drop) {
  return type.withAxes(
      llvm::filter_to_vector(type.getAxes(), [&](AxisAttr a) { return !llvm::is_contained(drop, a.getName()); }));
}

/// Of a leaf, the normal order, so that what a leaf computes, and how, does not depend on what follows it.
NamedTensorType OrderPlanner::orderOfStacked(RepeatOp repeat, Value value) const {
  return repeat->hasAttr(attrs::tree) ? normal(tensorType(value)) : known(value);
}

void OrderPlanner::planRepeat(RepeatOp op) {
  StringRef axis = op.getAxis().getName();
  assign(op.getInduction(), tensorType(op.getInduction()));
  for (auto [operand, argument] : llvm::zip(op.getCarried(), op.getCarriedArgs())) assign(argument, known(operand));
  for (auto [use, argument] : llvm::zip(op.getSlicedMutable(), op.getSlicedArgs())) {
    NamedTensorType type = inOrderOf(known(use.get()), axis);
    need(use, type);
    assign(argument, withoutAxes(type, axis));
  }
  for (auto [operand, argument] : llvm::zip(op.getInvariants(), op.getInvariantArgs()))
    assign(argument, known(operand));
  planBlock(op.getBlock());
  for (auto [i, use] : llvm::enumerate(op.getYield()->getOpOperands())) {
    bool isCarried = i < op.getCarried().size();
    NamedTensorType yielded = isCarried ? known(op.getCarriedArgs()[i]) : orderOfStacked(op, use.get());
    need(use, yielded);
    assign(op.getResult(i), isCarried ? known(op.getCarried()[i]) : withOutermost(yielded, op.getAxis()));
  }
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Values without an order of their own, since they are recomputed where they are used: sources and what follows from
/// them.
static bool isWeak(Value value, int depth = 0) {
  constexpr int deepest = 6;
  Operation *op = value.getDefiningOp();
  if (op && (op->hasTrait<traits::IsSource>() || isa<BroadcastOp>(op))) return true;
  return isa_and_present<ElementwiseOpInterface>(op) && depth < deepest &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isWeak(operand, depth + 1); });
}

void OrderPlanner::planElementwise(Operation *op) {
  auto result = tensorType(op->getResult(0));
  NamedTensorType from;
  bool fromWeak = true;
  for (Value operand : op->getOperands()) {
    NamedTensorType type = known(operand);
    if (type.getRank() != result.getRank()) continue;
    if (!from || (fromWeak && !isWeak(operand))) from = type, fromWeak = isWeak(operand);
  }
  // A unary op has its operand's type.
  assign(op->getResult(0), from ? inOrderOf(result, axisNames(from)) : normal(result));
}

void OrderPlanner::planGather(GatherOp op) {
  SmallVector<StringRef> order;
  for (Value index : op.getIndices())
    for (StringRef name : axisNames(known(index)))
      if (!llvm::is_contained(order, name)) order.push_back(name);
  for (StringRef name : axisNames(known(op.getX())))
    if (!llvm::is_contained(order, name) && !llvm::is_contained(names(op.getAxes()), name)) order.push_back(name);
  assign(op.getResult(), inOrderOf(op.getType(), order));
}

void OrderPlanner::planMerge(MergeOp op) {
  SmallVector<StringRef> merged = names(op.getAxes());
  NamedTensorType type = known(op.getX());
  if (!standTogether(type, merged, true)) type = movedTogether(type, merged);
  need(op.getXMutable(), type);
  SmallVector<StringRef> order;
  for (StringRef name : axisNames(type)) {
    if (name == merged.front()) order.push_back(op.getInto());
    if (!llvm::is_contained(merged, name)) order.push_back(name);
  }
  assign(op.getResult(), inOrderOf(op.getType(), order));
}

/// Each rank sends and receives contiguous memory: the mesh axis is the outermost one.
void OrderPlanner::planStart(StartOp op) {
  NamedTensorType sent = known(op.getX());
  if (op.getKind() == ExchangeKind::AllToAll) {
    sent = inOrderOf(sent, op.getAlong());
    need(op.getXMutable(), sent);
    return assign(op.getResult(), sent);
  }
  if (op.getKind() == ExchangeKind::ReduceScatter) {
    sent = inOrderOf(sent, op.getAlong());
    need(op.getXMutable(), sent);
    return assign(op.getResult(), sent.withoutAxis(op.getAlong()));
  }
  NamedTensorType received = op.getType();
  assign(op.getResult(), withOutermost(sent, received.getAxes()[received.findAxis(op.getAlong())]));
}

/// It reads what its start sends.
void OrderPlanner::planWait(WaitOp op) {
  NamedTensorType received = known(op.getStarted());
  auto start = op.getStarted().getDefiningOp<StartOp>();
  if (start.getKind() != ExchangeKind::AllGather)
    need(op.getSentMutable(), inOrderOf(known(start.getX()), start.getAlong()));
  assign(op.getResult(), received);
}

/// All parts have the order of the first one.
void OrderPlanner::planJoin(JoinOp op) {
  SmallVector<StringRef> order = axisNames(known(op.getParts().front()));
  for (OpOperand &use : op.getPartsMutable()) need(use, inOrderOf(known(use.get()), order));
  assign(op.getResult(), inOrderOf(op.getType(), order));
}

/// The order of a rename's or a split's result: each axis is replaced in its place.
static NamedTensorType replaceInPlace(NamedTensorType x, NamedTensorType result,
                                      function_ref<void(StringRef, SmallVectorImpl<StringRef> &)> replace) {
  SmallVector<StringRef> order;
  for (StringRef name : axisNames(x)) replace(name, order);
  return inOrderOf(result, order);
}

static NamedTensorType renamedType(RenameOp op, NamedTensorType x) {
  SmallVector<StringRef> from = names(op.getFrom()), to = names(op.getTo());
  return replaceInPlace(x, op.getType(), [&](StringRef name, SmallVectorImpl<StringRef> &order) {
    auto it = llvm::find(from, name);
    order.push_back(it == from.end() ? name : to[it - from.begin()]);
  });
}

static NamedTensorType splitType(SplitOp op, NamedTensorType x) {
  return replaceInPlace(x, op.getType(), [&](StringRef name, SmallVectorImpl<StringRef> &order) {
    if (name != op.getAxis()) return order.push_back(name);
    for (StringRef part : names(op.getInto())) order.push_back(part);
  });
}

void OrderPlanner::planOp(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case<RepeatOp>([&](auto repeat) { planRepeat(repeat); })
      .Case<func::ReturnOp>([&](auto ret) { planReturn(ret); })
      .Case<YieldOp>([](auto) {}) // handled with its repeat
      .Case<ContractOp>([&](auto contract) { planContract(contract); })
      .Case<GatherOp>([&](auto gather) { planGather(gather); })
      .Case<MergeOp>([&](auto merge) { planMerge(merge); })
      .Case<JoinOp>([&](auto join) { planJoin(join); })
      .Case<StartOp>([&](auto start) { planStart(start); })
      .Case<WaitOp>([&](auto wait) { planWait(wait); })
      .Case<RenameOp>([&](auto rename) { assign(rename.getResult(), renamedType(rename, known(rename.getX()))); })
      .Case<SplitOp>([&](auto split) { assign(split.getResult(), splitType(split, known(split.getX()))); })
      .Case<SliceOp, PadOp, ReduceOp>(
          [&](auto same) { assign(same.getResult(), inOrderOf(same.getType(), axisNames(known(same.getX())))); })
      .Case<ElementwiseOpInterface>([&](auto elementwise) { planElementwise(elementwise); })
      .Default([&](Operation *other) {
        for (Value result : other->getResults()) assign(result, normal(tensorType(result)));
      });
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// Whether a value, perhaps renamed, is a part of a joined one. Joined features are best innermost.
static bool feedsJoin(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<JoinOp>(user) || (isa<RenameOp>(user) && feedsJoin(user->getResult(0)));
  });
}

std::optional<NamedTensorType> OrderPlanner::chooseResult(ContractOp op, const ContractTypes &types) {
  std::optional<NamedTensorType> best;
  int bestScore = 0;
  SmallVector<NamedTensorType> candidates = resultCandidates(types, normal(op.getType()));
  for (Operation *user : op.getResult().getUsers())
    if (auto merge = dyn_cast<MergeOp>(user); merge && feedsJoin(merge.getResult())) {
      // As one row of the joined value after the other.
      SmallVector<StringRef> features = names(merge.getAxes());
      SmallVector<StringRef> order = axisNames(withoutAxes(normal(op.getType()), features));
      order.append(features);
      candidates.push_back(inOrderOf(op.getType(), order));
    }
  for (NamedTensorType candidate : candidates) {
    ContractTypes tried = types;
    tried.result = candidate;
    std::optional<ContractionGemm> gemm = describeGemm(tried);
    if (!gemm) continue;
    int budget = lookAheadBudget;
    // One more batch dimension is a loop of smaller GEMMs.
    int value = score(op.getResult(), candidate, budget) - static_cast<int>(gemm->c.dims.size());
    if (!best || value > bestScore) best = candidate, bestScore = value;
  }
  return best;
}

void OrderPlanner::planContract(ContractOp op) {
  SmallVector<StringRef> over = names(op.getOver());
  ContractTypes types{known(op.getLhs()), known(op.getRhs()), op.getType(), NamedTensorType(), over};
  if (!isGemmShaped(types)) {
    SmallVector<StringRef> order = axisNames(types.lhs);
    assign(op.getResult(),
           types.lhs.getRank() >= op.getType().getRank() &&
                   llvm::all_of(axisNames(op.getType()), [&](StringRef n) { return types.lhs.hasAxis(n); })
               ? inOrderOf(op.getType(), order)
               : normal(op.getType()));
    return;
  }
  // An operand as a dense batch of matrices, perhaps with the summed axes innermost, in the other operand's order.
  auto dense = [&](NamedTensorType x, NamedTensorType other, bool sumsInnermost = false) {
    OperandGroups groups = groupOperand(x, other, over);
    SmallVector<StringRef> order(groups.batch), summed = groupOperand(other, x, over).summed;
    if (!sumsInnermost) order.append(summed.begin(), summed.end());
    SmallVector<StringRef> others(order);
    if (sumsInnermost) others.append(summed.begin(), summed.end());
    SmallVector<StringRef> free = axisNames(normal(withoutAxes(x, others)));
    order.append(free.begin(), free.end());
    if (sumsInnermost) order.append(summed.begin(), summed.end());
    return inOrderOf(x, order);
  };
  using Attempt = std::pair<NamedTensorType, NamedTensorType>;
  NamedTensorType denseLhs = dense(types.lhs, types.rhs);
  SmallVector<Attempt> attempts{{types.lhs, types.rhs},
                                {types.lhs, dense(types.rhs, types.lhs)},
                                {denseLhs, types.rhs},
                                {denseLhs, dense(types.rhs, denseLhs)}};
  if (types.lhs.getNumElements() < types.rhs.getNumElements())
    std::swap(attempts[1], attempts[2]); // reorder the smaller operand
  // fp8 GEMMs of cuBLASLt need the summed axes innermost in both operands.
  if (Target::of(module).library.sumsFp8Innermost && types.lhs.getElementBytes() == 1) {
    NamedTensorType lhs = dense(types.lhs, types.rhs, /*sumsInnermost=*/true);
    attempts.assign({{lhs, dense(types.rhs, lhs, /*sumsInnermost=*/true)}});
  }
  for (auto [lhs, rhs] : attempts) {
    types.lhs = lhs, types.rhs = rhs;
    if (std::optional<NamedTensorType> result = chooseResult(op, types)) {
      need(op.getLhsMutable(), lhs);
      need(op.getRhsMutable(), rhs);
      assign(op.getResult(), *result);
      return;
    }
  }
  assign(op.getResult(), normal(op.getType()));
}

//===----------------------------------------------------------------------===//
// Scores: which orders suit the uses of a contraction's result
//===----------------------------------------------------------------------===//

int OrderPlanner::score(Value value, NamedTensorType type, int &budget) const {
  int total = 0;
  for (OpOperand &use : value.getUses()) {
    if (--budget < 0) break;
    total += scoreUse(use, type, budget);
  }
  return total;
}

int OrderPlanner::scoreUse(OpOperand &use, NamedTensorType type, int &budget) const {
  Operation *op = use.getOwner();
  if (auto contract = dyn_cast<ContractOp>(op)) {
    Value other = use.getOperandNumber() == 0 ? contract.getRhs() : contract.getLhs();
    return suitsGemm(type, groupOperand(type, tensorType(other), names(contract.getOver()))) ? 8 : 0;
  }
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    StringRef path = resultState(ret->getParentOfType<func::FuncOp>(), use.getOperandNumber());
    return !path.empty() && plan_.stateTypes.lookup(path) == type ? 12 : 0;
  }
  if (auto yield = dyn_cast<YieldOp>(op)) {
    auto repeat = dyn_cast<RepeatOp>(yield->getParentOp());
    if (!repeat) return 0;
    unsigned i = use.getOperandNumber();
    if (i < repeat.getCarried().size()) return known(repeat.getCarriedArgs()[i]) == type ? 12 : 0;
    if (repeat->hasAttr(attrs::tree)) return orderOfStacked(repeat, use.get()) == type ? 12 : 0;
    return score(repeat.getResult(i), withOutermost(type, repeat.getAxis()), budget);
  }
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    Value argument = repeat.getBlock().getArgument(1 + use.getOperandNumber());
    bool isSliced = tensorType(argument).getRank() < type.getRank();
    return score(argument, isSliced ? withoutAxes(type, repeat.getAxis().getName()) : type, budget);
  }
  if (auto rename = dyn_cast<RenameOp>(op)) return score(rename.getResult(), renamedType(rename, type), budget);
  if (auto split = dyn_cast<SplitOp>(op)) return score(split.getResult(), splitType(split, type), budget);
  if (op->hasAttr(partAttr))
    return score(op->getResult(0), inOrderOf(tensorType(op->getResult(0)), axisNames(type)), budget);
  if (auto merge = dyn_cast<MergeOp>(op)) {
    if (!standTogether(type, names(merge.getAxes()), true)) return 0;
    return feedsJoin(merge.getResult()) && names(merge.getAxes()).back() == type.getAxes().back().getName() ? 14 : 6;
  }
  if (!isa<ElementwiseOpInterface>(op) || tensorType(op->getResult(0)).getRank() != type.getRank()) return 0;
  int total = 0;
  for (Value other : op->getOperands()) {
    NamedTensorType otherType = known(other);
    if (other != use.get() && otherType && otherType.getRank() == type.getRank() && !isWeak(other))
      total += axisNames(otherType) == axisNames(type) ? 4 : -4;
  }
  return total + score(op->getResult(0), inOrderOf(tensorType(op->getResult(0)), axisNames(type)), budget);
}

LayoutPlan tessera::planLayout(ModuleOp module) { return OrderPlanner(module).plan(); }
