//===- PrecisionPlan.cpp - which values have the low-precision type ----------------===//

#include "passes/precision/PrecisionPlan.h"
#include "passes/precision/Dataflow.h"
#include "passes/precision/Policy.h"

using namespace mlir;
using namespace tessera;

/// Whether a value is the main result of a contraction or an attention: not what an attention keeps of its rows.
static bool isProduct(Value value) {
  auto result = dyn_cast<OpResult>(value);
  return result && isa<MultiplyOpInterface>(result.getOwner()) && result.getResultNumber() == 0;
}

/// The value before changes of shape.
static Value behindReshapes(Value value) {
  while (movesElements(value.getDefiningOp())) value = value.getDefiningOp()->getOperand(0);
  return value;
}

static bool isFloat(Value value) { return isa<FloatType>(tensorType(value).getElementType()); }

/// The number of the operand that a region argument of a repeat stands for; -1 for the induction value.
static int operandOf(BlockArgument argument) { return static_cast<int>(argument.getArgNumber()) - 1; }

static BlockArgument argumentOf(RepeatOp repeat, unsigned operand) {
  return repeat.getBlock().getArgument(operand + 1);
}

PrecisionPlan::PrecisionPlan(func::FuncOp function) {
  findActivations(function);
  findSumsOfGradients(function);
  findNewState(function);
  function.walk([&](Operation *op) {
    if (!isa<func::FuncOp, RepeatOp>(op)) return;
    findLevels(op->getRegion(0).front());
    findSensitiveOps(op->getRegion(0).front());
  });
}

//===----------------------------------------------------------------------===//
// What values are
//===----------------------------------------------------------------------===//

/// Whether a reduction leaves away axes with one element, as reading at one position of an axis does.
static bool dropsAxes(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce) return false;
  NamedTensorType type = tensorType(reduce.getX());
  return llvm::all_of(names(reduce.getOver()), [&](StringRef axis) { return type.getSize(axis) == 1; });
}

/// Whether the op's first result is an activation if an operand is.
static bool passesActivationsOn(Operation *op) {
  return isa<ElementwiseOpInterface, SoftmaxOp, LayerNormOp>(op) || movesElements(op) || dropsAxes(op);
}

void PrecisionPlan::findActivations(func::FuncOp function) {
  activations = followForwards(function, [](Operation *op, bool isOperandFound) -> ValueRange {
    bool makes = isa<MultiplyOpInterface, GatherOp>(op) || (isOperandFound && passesActivationsOn(op));
    return makes && isFloat(op->getResult(0)) ? op->getResults().take_front() : ValueRange();
  });
}

/// Backwards from the operands of the optimizer, through additions, scaling and changes of shape. The operands of an
/// addition are terms of a sum.
void PrecisionPlan::findSumsOfGradients(func::FuncOp function) {
  Values gradients;
  SmallVector<Value> work;
  auto mark = [&](Value value, bool isSum) {
    if (!value || !isFloat(value)) return;
    bool isNew = gradients.insert(value).second;
    isNew |= isSum && sumsOfGradients.insert(value).second;
    if (isNew) work.push_back(value);
  };
  function.walk([&](Operation *op) {
    if (auto clip = dyn_cast<ClipOp>(op))
      for (Value gradient : clip.getGradients()) mark(gradient, staysInF32(clip));
    if (auto update = dyn_cast<UpdateOp>(op)) mark(update.getGradient(), true);
  });
  while (!work.empty()) {
    Value value = work.pop_back_val();
    bool isSum = sumsOfGradients.contains(value);
    for (Term term : termsOf(value)) mark(term.value, isSum || term.isPart);
  }
}

/// The values that may be `value`: what a repeat carries or yields, both sides of a select, before a change of shape.
static SmallVector<Value> sourcesOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    int number = argument ? operandOf(argument) : static_cast<int>(cast<OpResult>(value).getResultNumber());
    if (number < 0) return {};
    bool isCarried = number < static_cast<int>(repeat.getCarried().size());
    if (isCarried)
      return {repeat->getOperand(number), argumentOf(repeat, number), repeat->getResult(number),
              repeat.getYield().getValues()[number]};
    return argument ? SmallVector<Value>() : SmallVector<Value>{repeat.getYield().getValues()[number]};
  }
  if (argument) return {};
  if (auto select = dyn_cast<SelectOp>(op)) return {select.getYes(), select.getNo()};
  return movesElements(op) ? SmallVector<Value>{op->getOperand(0)} : SmallVector<Value>();
}

/// The values that a next value is added up from: terms of sums, both operands where one is a scalar scale.
static SmallVector<Value> addendsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && scaledFactor(op)) return SmallVector<Value>(op->getOperands()); // of two scalars either may be the scale
  return llvm::map_to_vector(termsOf(value), [](const Term &term) { return term.value; });
}

/// Backwards from what the function returns as state. A running mean that is rounded in each step would lose what is
/// added to it, and a count is exact only if what is added is. These values have the axes of states: they are small.
void PrecisionPlan::findNewState(func::FuncOp function) {
  SmallVector<Value> work;
  for (OpOperand &use : function.getBody().front().getTerminator()->getOpOperands())
    if (!resultState(function, use.getOperandNumber()).empty()) work.push_back(use.get());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!isFloat(value) || !newState.insert(value).second) continue;
    llvm::append_range(work, sourcesOf(value));
    llvm::append_range(work, addendsOf(value));
  }
}

void PrecisionPlan::findLevels(Block &block) {
  for (Operation &op : block) {
    int level = 0;
    for (Value operand : op.getOperands()) level = std::max(level, levels.lookup(operand));
    level += isa<MultiplyOpInterface, GatherOp, ScatterAddOp, RepeatOp>(op);
    for (Value result : op.getResults()) levels[result] = level;
  }
}

/// The level of an op; for one without results that of its operands.
static int levelOf(Operation *op, const llvm::DenseMap<Value, int> &levels) {
  if (op->getNumResults() > 0) return levels.lookup(op->getResult(0));
  int level = 0;
  for (Value operand : op->getOperands()) level = std::max(level, levels.lookup(operand));
  return level;
}

/// Forwards from exponentials and logarithms, then backwards from these ops, to values that only they read. Within a
/// level.
void PrecisionPlan::findSensitiveOps(Block &block) {
  auto runsInLoops = [](Operation *op) {
    return isa<ElementwiseOpInterface, ReduceOp, SoftmaxOp>(op) || movesElements(op);
  };
  auto isLevelOf = [&](Value value, Operation *op) { return levels.lookup(value) == levelOf(op, levels); };
  for (Operation &op : block) {
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return sensitiveOps.contains(operand.getDefiningOp()) && isLevelOf(operand, &op);
    });
    if (op.hasTrait<traits::RoundingSensitive>() || (runsInLoops(&op) && follows)) sensitiveOps.insert(&op);
  }
  for (Operation &op : llvm::reverse(block)) {
    if (!runsInLoops(&op) || op.use_empty()) continue;
    bool areUsersSensitive = llvm::all_of(op.getUsers(), [&](Operation *user) {
      return sensitiveOps.contains(user) && isLevelOf(op.getResult(0), user);
    });
    if (areUsersSensitive) sensitiveOps.insert(&op);
  }
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Whether the value must be f32.
bool PrecisionPlan::isExempt(Value value) {
  return !activations.contains(value) || sumsOfGradients.contains(value) || newState.contains(value) ||
         staysInF32(value.getDefiningOp());
}

bool PrecisionPlan::isReduced(Value value) {
  value = behindReshapes(value);
  auto [it, isNew] = decided.try_emplace(value, false);
  if (!isNew) return it->second;
  bool isReduced = decide(value);
  return decided[value] = isReduced;
}

bool PrecisionPlan::decide(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    int operand = operandOf(argument);
    if (!repeat || operand < 0) return false;
    bool isCarried = operand < static_cast<int>(repeat.getCarried().size());
    return isCarried ? isCarriedReduced(repeat, operand) : isReduced(repeat->getOperand(operand));
  }
  auto result = cast<OpResult>(value);
  if (auto repeat = dyn_cast<RepeatOp>(result.getOwner())) {
    unsigned number = result.getResultNumber();
    if (number < repeat.getCarried().size()) return isCarriedReduced(repeat, number);
    return isYieldedReduced(repeat.getYield(), number);
  }
  // Moves elements that are rounded already, so an exemption would change nothing: readers in f32 get the same numbers.
  if (auto gather = dyn_cast<GatherOp>(result.getOwner()); gather && isReduced(gather.getX())) {
    reducedGathers.insert(gather);
    return true;
  }
  if (isExempt(value)) return false;
  if (isProduct(value)) return decideResultOfProduct(result);
  // The result of a contraction with a bias is the sum.
  if (auto add = dyn_cast<AddOp>(result.getOwner()))
    for (unsigned side : {0u, 1u}) {
      Value other = add->getOperand(1 - side);
      bool hasBias = tensorType(other).getRank() < add.getType().getRank() && !activations.contains(other);
      if (hasBias && isProduct(add->getOperand(side)) && isPartOfSum(add->getOperand(side)))
        return decideResultOfProduct(result);
    }
  return liesInMemory(value);
}

bool PrecisionPlan::decideResultOfProduct(OpResult result) {
  return !isRoundingSensitive(result) && !isPartOfSum(result);
}

/// Whether all users need f32: rounding-sensitive functions, ops that `tsr.precision` exempts, the caller.
bool PrecisionPlan::isRoundingSensitive(Value product) {
  return llvm::all_of(product.getUsers(), [&](Operation *user) {
    bool isSensitiveHere = sensitiveOps.contains(user) && levels.lookup(product) == levelOf(user, levels);
    return isSensitiveHere || isa<func::ReturnOp>(user) || (staysInF32(user) && arithmeticOf(user) == Arithmetic::Full);
  });
}

/// Whether the value is only added to a bias, or to another contraction, by an op that the contraction can absorb.
bool PrecisionPlan::isPartOfSum(Value product) {
  auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.user_begin()) : AddOp();
  if (!add || staysInF32(add) || add.getType() != product.getType()) return false;
  Value other = add.getLhs() == product ? add.getRhs() : add.getLhs();
  if (tensorType(other).getRank() < add.getType().getRank()) return !activations.contains(other);
  auto isTerm = [&](Value value) {
    return value.hasOneUse() && (isProduct(value) || isa_and_nonnull<AddOp>(value.getDefiningOp()));
  };
  return isTerm(other) && !staysInF32(other.getDefiningOp());
}

bool PrecisionPlan::isCarriedReduced(RepeatOp repeat, unsigned number) {
  return !isExempt(argumentOf(repeat, number)) &&
         !staysInF32(behindReshapes(repeat.getYield().getValues()[number]).getDefiningOp());
}

bool PrecisionPlan::isYieldedReduced(YieldOp yield, unsigned number) {
  auto repeat = cast<RepeatOp>(yield->getParentOp());
  if (number < repeat.getCarried().size()) return isCarriedReduced(repeat, number);
  return !isExempt(repeat.getResult(number)) && !staysInF32(behindReshapes(yield.getValues()[number]).getDefiningOp());
}

/// Whether an op reads the value from memory, in the low-precision type if the value has it.
bool PrecisionPlan::liesInMemory(Value value) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (movesElements(user)) return liesInMemory(user->getResult(0));
    if (auto repeat = dyn_cast<RepeatOp>(user)) {
      unsigned number = use.getOperandNumber();
      return number >= repeat.getCarried().size() || isCarriedReduced(repeat, number);
    }
    if (auto yield = dyn_cast<YieldOp>(user))
      return isa<RepeatOp>(yield->getParentOp()) && isYieldedReduced(yield, use.getOperandNumber());
    if (isa<GatherOp>(user)) return use.getOperandNumber() == 0;
    if (use.getOperandNumber() < numFactors(user)) return !staysInF32(user);
    // What follows from the block's arguments alone can be recomputed where it is read.
    int level = levels.lookup(value);
    return level > 0 && user->getNumResults() > 0 && levelOf(user, levels) > level;
  });
}

bool PrecisionPlan::isComputedReduced(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || isProduct(value) || movesElements(op) || isa<RepeatOp>(op) || reducedGathers.contains(op);
}

bool PrecisionPlan::needsReduced(OpOperand &use) {
  Operation *user = use.getOwner();
  if (use.getOperandNumber() < numFactors(user)) return !staysInF32(user);
  if (auto repeat = dyn_cast<RepeatOp>(user))
    return use.getOperandNumber() < repeat.getCarried().size() && isCarriedReduced(repeat, use.getOperandNumber());
  if (auto yield = dyn_cast<YieldOp>(user))
    return isa<RepeatOp>(yield->getParentOp()) && isYieldedReduced(yield, use.getOperandNumber());
  return false;
}

bool PrecisionPlan::acceptsReduced(OpOperand &use) {
  Operation *user = use.getOwner();
  if (needsReduced(use) || movesElements(user)) return true;
  if (isa<GatherOp>(user)) return use.getOperandNumber() == 0;
  auto repeat = dyn_cast<RepeatOp>(user);
  return repeat && use.getOperandNumber() >= repeat.getCarried().size();
}
