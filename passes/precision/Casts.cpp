//===- Casts.cpp - the casts of a program ---------------------------------===//
//
// 1. A low-precision value gets its type: either its producer computes it in that type, or a cast follows. Users that
//    compute in f32 read it through a cast back.
// 2. An operand that must have the low-precision type but has not (a parameter of a contraction) is cast at the
//    outermost place where the value is known: once a step and not once a layer, once for all uses. A slice of a stack
//    of parameters becomes a slice of the cast stack.
//
//===----------------------------------------------------------------------===//

#include "passes/precision/Casts.h"
#include "ir/dialect/Reshape.h"
#include "ir/program/Repeats.h"

using namespace mlir;
using namespace tessera;

namespace {
class CastInserter {
public:
  CastInserter(func::FuncOp function, PrecisionPlan &plan, Type reduced)
      : function(function), plan(plan), reduced(reduced), module(function->getParentOfType<ModuleOp>()) {}
  void run();

private:
  void reduce(Value value);
  Value cast(Value value, Type element);
  Value reducedTwin(Value value);
  NamedTensorType reducedType(Value value) { return tensorType(value).withElementType(reduced); }

  func::FuncOp function;
  PrecisionPlan &plan;
  Type reduced;
  ModuleOp module;
  llvm::DenseMap<Value, Value> twins; ///< low-precision copies of f32 values
};
} // namespace

GraphBuilder tessera::builderAfter(ModuleOp module, Value value) {
  Operation *op = value.getDefiningOp();
  GraphBuilder b(module, op ? op->getLoc() : value.getLoc());
  if (op)
    b.setInsertionPointAfter(op);
  else
    b.setInsertionPointToStart(cast<BlockArgument>(value).getOwner());
  return b;
}

Value tessera::reshapeLike(Operation *reshape, Value operand) {
  OpBuilder b(reshape->getContext());
  b.setInsertionPointAfter(reshape);
  Operation *copy = b.clone(*reshape);
  copy->setOperand(0, operand);
  Value result = copy->getResult(0);
  result.setType(tensorType(result).withElementType(tensorType(operand).getElementType()));
  return result;
}

Value CastInserter::cast(Value value, Type element) {
  GraphBuilder b = builderAfter(module, value);
  Value result = b.cast(value, element);
  if (Operation *op = value.getDefiningOp()) copyNotes(op, result.getDefiningOp());
  return result;
}

/// 1.
void CastInserter::reduce(Value value) {
  SmallVector<OpOperand *> uses = llvm::map_to_vector(value.getUses(), [](OpOperand &use) { return &use; });
  Type wide = tensorType(value).getElementType();
  Value narrow = value, widened;
  if (plan.isComputedReduced(value))
    value.setType(reducedType(value));
  else
    narrow = cast(value, reduced);
  for (OpOperand *use : uses) {
    if (plan.acceptsReduced(*use)) {
      use->set(narrow);
      continue;
    }
    if (!widened) widened = cast(narrow, wide);
    use->set(widened);
  }
}

/// The value in the low-precision type.
Value CastInserter::reducedTwin(Value value) {
  if (tensorType(value).getElementType() == reduced) return value;
  if (Value known = twins.lookup(value)) return known;
  Value twin;
  Operation *op = value.getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(value);
  auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp();
  if (repeat && argument.getArgNumber() > repeat.getCarried().size()) {
    twin = addLike(repeat, argument, reducedTwin(repeat->getOperand(argument.getArgNumber() - 1)));
  } else if (isReshape(op)) {
    twin = reshapeLike(op, reducedTwin(op->getOperand(0)));
  } else {
    twin = cast(value, reduced);
  }
  return twins[value] = twin;
}

void CastInserter::run() {
  SmallVector<Value> reducedValues;
  SmallVector<OpOperand *> wanted;
  auto note = [&](Value value) {
    if (plan.isReduced(value)) reducedValues.push_back(value);
  };
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), note);
    if (isa<RepeatOp>(op)) llvm::for_each(op->getRegion(0).getArguments(), note);
    for (OpOperand &use : op->getOpOperands())
      if (plan.needsReduced(use)) wanted.push_back(&use);
  });
  // Decisions depend on uses, so all are made before the first cast; isComputedReduced and acceptsReduced follow from
  // them.
  for (Value value : reducedValues) reduce(value);
  for (OpOperand *use : wanted)
    if (tensorType(use->get()).getElementType() != reduced) use->set(reducedTwin(use->get()));
}

void tessera::insertCasts(func::FuncOp function, PrecisionPlan &plan, Type reduced) {
  CastInserter(function, plan, reduced).run();
}
