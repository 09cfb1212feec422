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
//   1. Find the active operands (ReverseMode.h): those that depend on an operand whose gradient is needed, and on which
//      a result with a gradient depends.
//   2. Build the adjoint of the body in a block of its own; it refers to values of the forward body.
//   3. Resolve each such value: the backward repeat has the induction value, slices and invariants itself; what
//      SavedValues.h decides to recompute is cloned (with the site and the salts of draws); the rest is saved as
//      stacked results.
//   4. Rebuild the forward repeat with the stacked results, and create the backward one.
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

/// The region argument of a repeat that stands for an operand.
static BlockArgument argumentOf(RepeatOp repeat, unsigned operand) {
  return repeat.getBlock().getArgument(1 + operand);
}

namespace {
/// What of the forward repeat has a gradient, in numbers of its operands and results.
struct ActiveOperands {
  ActiveOperands(RepeatOp forward, ValueRange gradients, Needed needed);

  SmallVector<unsigned> carried;     ///< carried operands whose gradient is carried
  SmallVector<unsigned> accumulated; ///< invariants whose gradient is accumulated
  SmallVector<unsigned> sliced;      ///< sliced operands that may get a gradient
  SmallVector<unsigned> seeds;       ///< stacked results that have a gradient
};

/// The backward repeat while its region is built.
class BackwardRepeat {
public:
  BackwardRepeat(GraphBuilder &builder, Type induction) : loc(builder.getLoc()) { block->addArgument(induction, loc); }

  /// Each adds an operand of the repeat, and returns the region argument that stands for it.
  BlockArgument addCarried(Value operand) {
    carried.push_back(operand);
    return block->insertArgument(carried.size(), operand.getType(), loc);
  }
  BlockArgument addSliced(Value operand, Type sliceType) {
    sliced.push_back(operand);
    return block->insertArgument(carried.size() + sliced.size(), sliceType, loc);
  }
  BlockArgument addInvariant(Value operand) {
    invariants.push_back(operand);
    return block->addArgument(operand.getType(), loc);
  }

  Block *block = new Block; ///< the repeat takes it over
  SmallVector<Value> carried, sliced, invariants;

private:
  Location loc;
};

/// Replaces the values of the forward body that the adjoint of the body reads.
class CaptureResolver {
public:
  CaptureResolver(GraphBuilder &builder, RepeatOp forward, BackwardRepeat &backward)
      : b(builder), forward(forward), backward(backward), savedValues(forward, *backward.block),
        firstOp(&backward.block->front()) {}
  void run();
  /// The forward repeat with what is saved as stacked results, which become operands of the backward repeat.
  RepeatOp rebuildForward();

private:
  Value resolve(Value value);
  Value resolveArgument(BlockArgument argument);
  Value recompute(Operation *op, Value result);
  Value save(Value value);

  GraphBuilder &b;
  RepeatOp forward;
  BackwardRepeat &backward;
  SavedValues savedValues;
  Operation *firstOp; ///< of the adjoint; clones go before it
  DenseMap<Value, Value> resolved;
  SmallVector<Value> saved;                               ///< values of the body to stack
  SmallVector<std::pair<unsigned, unsigned>> savedSlices; ///< (sliced operand of `backward`, result of `forward`)
};

/// One use of `RepeatOp::buildAdjoint`.
class RepeatAdjoint {
public:
  RepeatAdjoint(GraphBuilder &builder, RepeatOp forward, ValueRange gradients, Needed needed)
      : b(builder), forward(forward), active(forward, gradients, needed),
        backward(builder, forward.getInduction().getType()) {
    addGradientArguments(gradients);
  }

  void build(Needed needed, Accumulate accumulate);

private:
  void addGradientArguments(ValueRange gradients);
  void buildBody();
  void yieldGradients(const ReverseMode &reverse);
  RepeatOp createBackward();

  Value zeros(Type type) { return b.constant(0, cast<NamedTensorType>(type)); }

  GraphBuilder &b;
  RepeatOp forward;
  ActiveOperands active;
  BackwardRepeat backward;
  SmallVector<unsigned> stackedGradients; ///< those of `active.sliced` that got a gradient
};
} // namespace

//===----------------------------------------------------------------------===//
// 1. Active operands
//===----------------------------------------------------------------------===//

ActiveOperands::ActiveOperands(RepeatOp forward, ValueRange gradients, Needed needed) {
  ValueSet varied = variedInRepeat(forward, needed);
  ValueSet useful = usefulInRepeat(forward, [&](unsigned i) { return gradients[i] != nullptr; });
  unsigned numCarried = forward.getCarried().size(), numSliced = forward.getSliced().size();
  for (unsigned i = 0, e = forward->getNumOperands(); i < e; ++i) {
    BlockArgument argument = argumentOf(forward, i);
    if (!varied.contains(argument) || !useful.contains(argument)) {
      // A carried result may have a gradient that the argument of the next iteration does not pass on; the last
      // iteration still needs it.
      if (i >= numCarried || !gradients[i] || !varied.contains(forward.getYield().getValues()[i])) continue;
    }
    (i < numCarried ? carried : i < numCarried + numSliced ? sliced : accumulated).push_back(i);
  }
  for (unsigned i = numCarried, e = forward->getNumResults(); i < e; ++i)
    if (gradients[i] && varied.contains(forward.getYield().getValues()[i])) seeds.push_back(i);
}

//===----------------------------------------------------------------------===//
// 2. The adjoint of the body
//===----------------------------------------------------------------------===//

void RepeatAdjoint::addGradientArguments(ValueRange gradients) {
  for (unsigned i : active.carried)
    backward.addCarried(gradients[i] ? gradients[i] : zeros(forward->getOperand(i).getType()));
  for (unsigned i : active.accumulated) backward.addCarried(zeros(forward->getOperand(i).getType()));
  for (unsigned i : active.seeds) backward.addSliced(gradients[i], forward.getYield().getValues()[i].getType());
}

void RepeatAdjoint::buildBody() {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(backward.block);
  SmallVector<Value> wrt;
  for (ArrayRef<unsigned> operands : {ArrayRef(active.carried), ArrayRef(active.accumulated), ArrayRef(active.sliced)})
    for (unsigned i : operands) wrt.push_back(argumentOf(forward, i));
  ReverseMode reverse(b, opsOf(forward.getBlock()), wrt);
  ValueRange yields = forward.getYield().getValues();
  for (auto [n, i] : llvm::enumerate(active.carried)) reverse.accumulate(yields[i], backward.block->getArgument(1 + n));
  for (auto [n, i] : llvm::enumerate(active.seeds))
    reverse.accumulate(yields[i], backward.block->getArgument(1 + backward.carried.size() + n));
  reverse.run();
  yieldGradients(reverse);
}

void RepeatAdjoint::yieldGradients(const ReverseMode &reverse) {
  SmallVector<Value> results;
  unsigned next = 0;
  for (unsigned i : active.carried) {
    Value gradient = reverse.getGradient(next++);
    results.push_back(gradient ? gradient : zeros(argumentOf(forward, i).getType()));
  }
  for (unsigned n = 0; n < active.accumulated.size(); ++n) {
    Value sum = backward.block->getArgument(1 + active.carried.size() + n), gradient = reverse.getGradient(next++);
    results.push_back(gradient ? b.add(sum, gradient) : sum);
  }
  for (unsigned i : active.sliced)
    if (Value gradient = reverse.getGradient(next++)) {
      results.push_back(gradient);
      stackedGradients.push_back(i);
    }
  YieldOp::create(b, b.getLoc(), results);
}

//===----------------------------------------------------------------------===//
// 3. Values of the forward body
//===----------------------------------------------------------------------===//

void CaptureResolver::run() {
  SmallVector<Operation *> ops = llvm::map_to_vector(*backward.block, [](Operation &op) { return &op; });
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getParentBlock() == &forward.getBlock()) operand.set(resolve(operand.get()));
}

Value CaptureResolver::resolve(Value value) {
  if (Value known = resolved.lookup(value)) return known;
  Value result;
  if (auto argument = dyn_cast<BlockArgument>(value))
    result = resolveArgument(argument);
  else
    result = savedValues.isRecomputed(value) ? recompute(value.getDefiningOp(), value) : save(value);
  resolved[value] = result;
  return result;
}

Value CaptureResolver::resolveArgument(BlockArgument argument) {
  unsigned number = argument.getArgNumber(), numCarried = forward.getCarried().size();
  if (number == 0) return backward.block->getArgument(0);
  if (number <= numCarried) return save(argument);
  Value operand = forward->getOperand(number - 1);
  if (number <= numCarried + forward.getSliced().size()) return backward.addSliced(operand, argument.getType());
  return backward.addInvariant(operand);
}

/// Clones an op into the backward body.
Value CaptureResolver::recompute(Operation *op, Value result) {
  IRMapping map;
  for (Value operand : op->getOperands()) map.map(operand, resolve(operand));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(firstOp);
  return b.clone(*op, map)->getResult(cast<OpResult>(result).getResultNumber());
}

/// Stacks the value in the forward repeat, or finds that it is stacked already.
Value CaptureResolver::save(Value value) {
  unsigned numCarried = forward.getCarried().size();
  ValueRange stacked = forward.getYield().getValues().drop_front(numCarried);
  unsigned result = numCarried + (llvm::find(stacked, value) - stacked.begin());
  if (result == forward->getNumResults()) {
    result += saved.size();
    saved.push_back(value);
  }
  savedSlices.push_back({backward.sliced.size(), result});
  return backward.addSliced(Value(), value.getType()); // The operand is known once the forward repeat is rebuilt.
}

//===----------------------------------------------------------------------===//
// 4. Both repeats
//===----------------------------------------------------------------------===//

RepeatOp CaptureResolver::rebuildForward() {
  RepeatOp rebuilt = addStacked(forward, saved);
  for (auto [slot, result] : savedSlices) backward.sliced[slot] = rebuilt->getResult(result);
  return rebuilt;
}

RepeatOp RepeatAdjoint::createBackward() {
  SmallVector<Type> types = llvm::map_to_vector(backward.carried, [](Value v) { return v.getType(); });
  for (unsigned i : stackedGradients) types.push_back(forward->getOperand(i).getType());
  auto repeat = RepeatOp::create(b, b.getLoc(), types, forward.getAxis(), !forward.getReverse(), backward.carried,
                                 backward.sliced, backward.invariants, ArrayAttr());
  repeat.getBody().push_back(backward.block);
  return repeat;
}

void RepeatAdjoint::build(Needed needed, Accumulate accumulate) {
  buildBody();
  CaptureResolver captures(b, forward, backward);
  captures.run();
  forward = captures.rebuildForward();
  RepeatOp repeat = createBackward();

  unsigned next = 0;
  for (ArrayRef<unsigned> operands :
       {ArrayRef(active.carried), ArrayRef(active.accumulated), ArrayRef(stackedGradients)})
    for (unsigned i : operands) {
      Value gradient = repeat->getResult(next++);
      if (needed(i)) accumulate(i, gradient);
    }
}

void RepeatOp::buildAdjoint(GraphBuilder &b, ValueRange gradients, Needed needed, Accumulate accumulate) {
  RepeatAdjoint(b, *this, gradients, needed).build(needed, accumulate);
}
