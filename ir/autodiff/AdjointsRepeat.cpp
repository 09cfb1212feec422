//===- AdjointsRepeat.cpp - the adjoint of a repeat is a reversed repeat --===//
//
// Forward, with what the backward pass needs added as stacked results (x: the
// carried argument itself, h: a value of the body):
//
//   %y, %xs, %hs = tsr.repeat [layer: 12] index %i
//       carry (%x = %x0) slice (%w = %W) invariant (%m = %m0)
//       { …; yield %y', %x, %h }
//
// Backward:
//
//   %dx0, %dm0, %dW = tsr.repeat [layer: 12] reverse index %i
//       carry (%dy = %dy0, %acc = 0) slice (%x = %xs, %h = %hs, %w = %W) invariant (%m = %m0)
//       { …; yield %dx, %acc + %dm, %dw }
//
//   1. Which carried values, slices and invariants take part: those that depend on an operand whose gradient is
//      needed, and on which a result with a gradient depends.
//   2. Build the adjoint of the body in a block of its own; it refers to values of the forward body.
//   3. Resolve each such value: the backward repeat has the induction value, slices and invariants itself; ops that
//      SavedValues.h decides to recompute are cloned (with the site and the salts of draws); other values are saved as
//      stacked results.
//   4. Rebuild the forward repeat with the stacked results, and make the backward one.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/ReverseMode.h"
#include "ir/autodiff/SavedValues.h"
#include "ir/program/Repeats.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

using Needed = function_ref<bool(unsigned)>;
using Accumulate = function_ref<void(unsigned, Value)>;

namespace {
/// One use of `RepeatOp::buildAdjoint`.
class RepeatAdjoint {
public:
  RepeatAdjoint(GraphBuilder &builder, RepeatOp forward)
      : b(builder), forward(forward), axis(forward.getAxis()), block(new Block) {
    block->addArgument(forward.getInduction().getType(), b.getLoc());
  }

  void build(ValueRange gradients, Needed needed, Accumulate accumulate);

private:
  void plan(ValueRange gradients, Needed needed);
  void addGradientArguments(ValueRange gradients);
  void buildBody();
  void resolveCaptures();
  Value resolve(Value value);
  Value clone(Operation *op, Value result);
  Value save(Value value);
  void rebuildForward();
  RepeatOp createBackward();

  Value addSliced(Value operand, Type sliceType);
  Value zeros(Type type) { return b.constant(0, cast<NamedTensorType>(type)); }
  BlockArgument argument(unsigned operand) { return forward.getBlock().getArgument(1 + operand); }

  GraphBuilder &b;
  RepeatOp forward;
  AxisAttr axis;
  Block *block; ///< of the backward repeat, which takes it over

  // The plan, in numbers of operands and results of the forward repeat.
  SmallVector<unsigned> carriedBack;  ///< carried operands whose gradient is carried
  SmallVector<unsigned> accumulated;  ///< invariants whose gradient is accumulated
  SmallVector<unsigned> slicedBack;   ///< sliced operands that may get a gradient
  SmallVector<unsigned> stackedSeeds; ///< stacked results that have a gradient

  // Operands of the backward repeat, in the order of its region's arguments.
  SmallVector<Value> carried, sliced, invariants;
  SmallVector<unsigned> stackedBack;                      ///< those of `slicedBack` that got one
  SmallVector<Value> saved;                               ///< values of the body to stack
  SmallVector<std::pair<unsigned, unsigned>> savedSlices; ///< where in `sliced` the stack of a result of `forward` goes
  DenseMap<Value, Value> resolved;
  std::optional<SavedValues> savedValues;
  Operation *firstOp = nullptr; ///< of the adjoint; clones go before it
};
} // namespace

//===----------------------------------------------------------------------===//
// 1. What takes part
//===----------------------------------------------------------------------===//

void RepeatAdjoint::plan(ValueRange gradients, Needed needed) {
  ValueSet varied = variedInRepeat(forward, needed);
  ValueSet useful = usefulInRepeat(forward, [&](unsigned i) { return gradients[i] != nullptr; });
  unsigned numCarried = forward.getCarried().size(), numSliced = forward.getSliced().size();
  for (unsigned i = 0, e = forward->getNumOperands(); i < e; ++i) {
    if (!varied.contains(argument(i)) || !useful.contains(argument(i))) {
      // A carried result may have a gradient that the next round's argument does not pass on; the last round still
      // needs it.
      if (i >= numCarried || !gradients[i] || !varied.contains(forward.getYield().getValues()[i])) continue;
    }
    (i < numCarried ? carriedBack : i < numCarried + numSliced ? slicedBack : accumulated).push_back(i);
  }
  for (unsigned i = numCarried, e = forward->getNumResults(); i < e; ++i)
    if (gradients[i] && varied.contains(forward.getYield().getValues()[i])) stackedSeeds.push_back(i);
}

//===----------------------------------------------------------------------===//
// 2. The adjoint of the body
//===----------------------------------------------------------------------===//

Value RepeatAdjoint::addSliced(Value operand, Type sliceType) {
  sliced.push_back(operand);
  return block->insertArgument(carried.size() + sliced.size(), sliceType, b.getLoc());
}

void RepeatAdjoint::addGradientArguments(ValueRange gradients) {
  auto addCarried = [&](Value operand) {
    carried.push_back(operand);
    block->addArgument(operand.getType(), b.getLoc());
  };
  for (unsigned i : carriedBack) addCarried(gradients[i] ? gradients[i] : zeros(forward->getOperand(i).getType()));
  for (unsigned i : accumulated) addCarried(zeros(forward->getOperand(i).getType()));
  for (unsigned i : stackedSeeds) addSliced(gradients[i], forward.getYield().getValues()[i].getType());
}

void RepeatAdjoint::buildBody() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  SmallVector<Value> wrt;
  for (ArrayRef<unsigned> operands : {ArrayRef(carriedBack), ArrayRef(accumulated), ArrayRef(slicedBack)})
    for (unsigned i : operands) wrt.push_back(argument(i));
  ReverseMode reverse(b, opsOf(forward.getBlock()), wrt);
  ValueRange yields = forward.getYield().getValues();
  for (auto [n, i] : llvm::enumerate(carriedBack)) reverse.accumulate(yields[i], block->getArgument(1 + n));
  for (auto [n, i] : llvm::enumerate(stackedSeeds))
    reverse.accumulate(yields[i], block->getArgument(1 + carried.size() + n));
  reverse.run();

  SmallVector<Value> results;
  unsigned next = 0;
  for (unsigned i : carriedBack) {
    Value gradient = reverse.getGradient(next++);
    results.push_back(gradient ? gradient : zeros(argument(i).getType()));
  }
  for (unsigned n = 0; n < accumulated.size(); ++n) {
    Value sum = block->getArgument(1 + carriedBack.size() + n), gradient = reverse.getGradient(next++);
    results.push_back(gradient ? b.add(sum, gradient) : sum);
  }
  for (unsigned i : slicedBack)
    if (Value gradient = reverse.getGradient(next++)) {
      results.push_back(gradient);
      stackedBack.push_back(i);
    }
  YieldOp::create(b, b.getLoc(), results);
}

//===----------------------------------------------------------------------===//
// 3. Values of the forward body
//===----------------------------------------------------------------------===//

void RepeatAdjoint::resolveCaptures() {
  savedValues.emplace(forward, *block);
  SmallVector<Operation *> ops = llvm::map_to_vector(*block, [](Operation &op) { return &op; });
  firstOp = ops.front();
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getParentBlock() == &forward.getBlock()) operand.set(resolve(operand.get()));
}

Value RepeatAdjoint::resolve(Value value) {
  if (Value known = resolved.lookup(value)) return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned number = argument.getArgNumber(), numCarried = forward.getCarried().size();
    if (number == 0) {
      result = block->getArgument(0);
    } else if (number <= numCarried) {
      result = save(value);
    } else if (Value operand = forward->getOperand(number - 1); number <= numCarried + forward.getSliced().size()) {
      result = addSliced(operand, value.getType());
    } else {
      invariants.push_back(operand);
      result = block->addArgument(value.getType(), b.getLoc());
    }
  } else if (Operation *op = value.getDefiningOp(); savedValues->isRecomputed(value)) {
    result = clone(op, value);
  } else {
    result = save(value);
  }
  resolved[value] = result;
  return result;
}

/// Recomputes the value in the backward body.
Value RepeatAdjoint::clone(Operation *op, Value result) {
  IRMapping map;
  for (Value operand : op->getOperands()) map.map(operand, resolve(operand));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(firstOp);
  return b.clone(*op, map)->getResult(cast<OpResult>(result).getResultNumber());
}

/// Stacks the value in the forward repeat, or finds that it is stacked already.
Value RepeatAdjoint::save(Value value) {
  unsigned numCarried = forward.getCarried().size();
  ValueRange stacked = forward.getYield().getValues().drop_front(numCarried);
  unsigned result = numCarried + (llvm::find(stacked, value) - stacked.begin());
  if (result == forward->getNumResults()) {
    result += saved.size();
    saved.push_back(value);
  }
  savedSlices.push_back({sliced.size(), result});
  return addSliced(Value(), value.getType()); // The operand is known once the forward repeat has been rebuilt.
}

//===----------------------------------------------------------------------===//
// 4. Both repeats
//===----------------------------------------------------------------------===//

void RepeatAdjoint::rebuildForward() {
  forward = addStacked(forward, saved);
  for (auto [slot, result] : savedSlices) sliced[slot] = forward->getResult(result);
}

RepeatOp RepeatAdjoint::createBackward() {
  SmallVector<Type> types = llvm::map_to_vector(carried, [](Value v) { return v.getType(); });
  for (unsigned i : stackedBack) types.push_back(forward->getOperand(i).getType());
  auto backward =
      RepeatOp::create(b, b.getLoc(), types, axis, !forward.getReverse(), carried, sliced, invariants, ArrayAttr());
  backward.getBody().push_back(block);
  return backward;
}

void RepeatAdjoint::build(ValueRange gradients, Needed needed, Accumulate accumulate) {
  plan(gradients, needed);         // 1.
  addGradientArguments(gradients); // 2.
  buildBody();
  resolveCaptures(); // 3.
  rebuildForward();  // 4.
  RepeatOp backward = createBackward();

  unsigned next = 0;
  for (ArrayRef<unsigned> operands : {ArrayRef(carriedBack), ArrayRef(accumulated), ArrayRef(stackedBack)})
    for (unsigned i : operands) {
      Value gradient = backward->getResult(next++);
      if (needed(i)) accumulate(i, gradient);
    }
}

void RepeatOp::buildAdjoint(GraphBuilder &b, ValueRange gradients, Needed needed, Accumulate accumulate) {
  RepeatAdjoint(b, *this).build(gradients, needed, accumulate);
}
