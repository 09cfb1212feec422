//===- LostMasks.cpp - selects whose gradient may be NaN ------------------===//
//
//   1. The guard: what the condition of a select is computed from, by ops that pass zeros.
//   2. The mixers: of the values that mix elements, the first ones on the ways back from a side of the select.
//   3. Behind a mixer, however many others follow: a function of what the guard holds.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/LostMasks.h"
#include "ir/autodiff/NonFinite.h"
#include "ir/autodiff/RegionArguments.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

using Values = llvm::SetVector<Value>;

static bool isGuard(Operation *op) { return isa<SelectOp, MaxOp, MinOp>(op); }

/// Positions, constants, draws and the numbers of iterations: two values that have one of them in common are not
/// related by it.
static bool isSource(Value value) {
  if (Operation *op = value.getDefiningOp()) return op->hasTrait<traits::IsSource>();
  return cast<BlockArgument>(value).getArgNumber() == 0 && isa<RepeatOp>(value.getParentBlock()->getParentOp());
}

/// What the values are computed from by ops that pass zeros, and the values themselves, without sources. Also what the
/// arguments of a region stand for. If `stopsAtGuards`, not what selects, maxima and minima choose from.
static Values sourcesOf(ValueRange values, bool stopsAtGuards = false) {
  Values sources;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (isSource(value) || !sources.insert(value)) continue;
    Operation *op = value.getDefiningOp();
    if (!op)
      llvm::append_range(work, valuesOf(cast<BlockArgument>(value)));
    else if (passesZeros(op) && !(stopsAtGuards && isGuard(op)))
      llvm::append_range(work, op->getOperands());
  }
  return sources;
}

/// The operands that must be in the domain of the function.
static ValueRange guardedOperands(Operation *function) {
  return isa<DivOp, ModOp, FloorDivOp>(function) ? function->getOperands().drop_front() : function->getOperands();
}

/// The op that mixes elements where it computes the value, or, for an argument of a region, where it hands it over;
/// else null.
static Operation *mixerOf(Value value) {
  if (Operation *op = value.getDefiningOp()) return isa<AdjointOpInterface>(op) && !passesZeros(op) ? op : nullptr;
  auto argument = cast<BlockArgument>(value);
  Operation *op = argument.getOwner()->getParentOp();
  bool isScore = isa<AttentionOp>(op) && argument.getArgNumber() == 0;
  return isScore || isCarried(argument) ? op : nullptr;
}

/// 2. The first mixed values on the ways back from a side of a select.
static Values firstMixed(Value side) {
  Values visited, mixed;
  SmallVector<Value> work{side};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (isSource(value) || !visited.insert(value)) continue;
    if (mixerOf(value))
      mixed.insert(value);
    else if (Operation *op = value.getDefiningOp(); op && passesZeros(op))
      llvm::append_range(work, op->getOperands());
    else if (!op)
      llvm::append_range(work, valuesOf(cast<BlockArgument>(value)));
  }
  return mixed;
}

/// What a value is computed from by any op, inside of regions and around them.
static SmallVector<Value> predecessors(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto attention = dyn_cast<AttentionOp>(argument.getOwner()->getParentOp());
    if (attention && argument.getArgNumber() == 0) return {attention.getQ(), attention.getK()};
    return valuesOf(argument);
  }
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return {repeat.getYield().getValues()[cast<OpResult>(value).getResultNumber()]};
  SmallVector<Value> values(op->getOperands());
  if (isa<AttentionOp>(op))
    for (Region &region : op->getRegions())
      if (!region.empty()) llvm::append_range(values, region.front().getTerminator()->getOperands());
  return values;
}

namespace {
/// Remembers what it has found of an op, since many selects may lead to it.
class Search {
public:
  std::optional<LostMask> find(SelectOp select);

private:
  const Values &conditionOf(SelectOp select);
  const Values &operandsOf(Operation *function);
  Operation *guardedFunction(Value mixed, const Values &guard);

  std::map<Operation *, Values> conditions, operands; // looked up only
};
} // namespace

const Values &Search::conditionOf(SelectOp select) {
  auto [it, isNew] = conditions.try_emplace(select);
  if (isNew) it->second = sourcesOf(select.getCondition());
  return it->second;
}

const Values &Search::operandsOf(Operation *function) {
  auto [it, isNew] = operands.try_emplace(function);
  if (isNew) it->second = sourcesOf(guardedOperands(function), /*stopsAtGuards=*/true);
  return it->second;
}

static bool intersects(const Values &a, const Values &b) {
  return llvm::any_of(a, [&](Value value) { return b.contains(value); });
}

/// 3. The function behind a mixed value that the guard is about. One behind another select on what the guard is about
/// is guarded by that.
Operation *Search::guardedFunction(Value mixed, const Values &guard) {
  Values visited;
  SmallVector<Value> work = predecessors(mixed);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!hasGradient(value) || isSource(value) || !visited.insert(value)) continue;
    Operation *op = value.getDefiningOp();
    if (op && mayBeNonFinite(op) && intersects(operandsOf(op), guard)) return op;
    auto select = dyn_cast_or_null<SelectOp>(op);
    if (!select || !intersects(conditionOf(select), guard)) llvm::append_range(work, predecessors(value));
  }
  return nullptr;
}

std::optional<LostMask> Search::find(SelectOp select) {
  if (!hasGradient(select)) return std::nullopt;
  const Values &guard = conditionOf(select);
  if (guard.empty()) return std::nullopt;
  Values yes = firstMixed(select.getYes()), no = firstMixed(select.getNo());
  for (auto [mixed, others] : {std::pair(&yes, &no), std::pair(&no, &yes)})
    for (Value value : *mixed) {
      if (others->contains(value)) continue;
      if (Operation *function = guardedFunction(value, guard)) return LostMask{select, function, mixerOf(value)};
    }
  return std::nullopt;
}

SmallVector<LostMask> tessera::findLostMasks(ArrayRef<Operation *> ops) {
  SmallVector<LostMask> found;
  Search search;
  for (Operation *op : ops)
    op->walk([&](SelectOp select) {
      if (std::optional<LostMask> lost = search.find(select)) found.push_back(*lost);
    });
  return found;
}
