//===- LostMasks.cpp - selects whose gradient may be NaN ------------------===//

#include "ir/autodiff/LostMasks.h"
#include "ir/autodiff/NonFinite.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tessera;

using Values = llvm::SetVector<Value>;

static bool isGuard(Operation *op) { return isa<SelectOp, MaxOp, MinOp>(op); }

/// What the values are computed from by ops that pass zeros, and the values themselves. Positions, constants and draws
/// are left out: two values that have one of them in common are not related by it. If `stopsAtGuards`, so is what
/// selects, maxima and minima choose from.
static Values sourcesOf(ValueRange values, bool stopsAtGuards = false) {
  Values sources;
  SmallVector<Value> work(values);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if ((op && op->hasTrait<traits::IsSource>()) || !sources.insert(value)) continue;
    if (op && passesZeros(op) && !(stopsAtGuards && isGuard(op))) llvm::append_range(work, op->getOperands());
  }
  return sources;
}

/// The operands that must be in the domain of the function.
static ValueRange guardedOperands(Operation *function) {
  return isa<DivOp, ModOp, FloorDivOp>(function) ? function->getOperands().drop_front() : function->getOperands();
}

/// The function behind `mixer` that a condition guards, where `guard` is what that condition is computed from.
static Operation *guardedFunction(Operation *mixer, const Values &guard) {
  for (Value value : sourcesOf(mixer->getOperands())) {
    Operation *op = value.getDefiningOp();
    if (!op || !mayBeNonFinite(op) || guard.contains(value)) continue;
    Values operands = sourcesOf(guardedOperands(op), /*stopsAtGuards=*/true);
    if (llvm::any_of(operands, [&](Value operand) { return guard.contains(operand); })) return op;
  }
  return nullptr;
}

static std::optional<LostMask> findLostMask(SelectOp select) {
  if (!hasGradient(select)) return std::nullopt;
  Value condition = select.getCondition();
  Values guard = sourcesOf(condition);
  for (Value value : sourcesOf(select->getOperands().drop_front())) {
    Operation *mixer = value.getDefiningOp();
    if (!mixer || passesZeros(mixer) || !isa<AdjointOpInterface>(mixer)) continue;
    if (Operation *function = guardedFunction(mixer, guard)) return LostMask{select, function, mixer};
  }
  return std::nullopt;
}

SmallVector<LostMask> tessera::findLostMasks(ArrayRef<Operation *> ops) {
  SmallVector<LostMask> found;
  for (Operation *op : ops)
    op->walk([&](SelectOp select) {
      if (std::optional<LostMask> lost = findLostMask(select)) found.push_back(*lost);
    });
  return found;
}
