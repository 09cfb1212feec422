//===- ReverseMode.cpp - gradients of a sequence of ops -------------------===//
//
//   1. Find the varied values: floats that depend on `wrt` through differentiable ops.
//   2. The caller accumulates the gradients that it knows.
//   3. Walk the ops backward. All users of an op's results come before the op, so that
//      the results' gradients are complete; the op's adjoint turns them into
//      contributions to its operands, which are summed in the order of the walk.
//   4. A masked gradient is zero at points where an op may have computed NaN. A product
//      with a factor that may be infinite or NaN there is replaced by zero. The mask goes with
//      the gradient out of a region, not into one.
//
//===----------------------------------------------------------------------===//

#include "ir/autodiff/ReverseMode.h"
#include "ir/autodiff/RegionArguments.h"
#include "ir/dialect/Reshape.h"
#include "ir/program/IndexRange.h"
#include "ir/program/Program.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

bool tessera::hasGradient(Value value) { return isa<FloatType>(tensorType(value).getElementType()); }

SmallVector<Operation *> tessera::opsOf(Block &block) {
  return llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
}

Value tessera::clampIndex(GraphBuilder &builder, Value index, int64_t size) {
  if (auto range = indexRange(index); range && range->isWithin(size)) return index;
  Type element = tensorType(index).getElementType();
  return builder.min(builder.max(index, builder.scalar(0, element)), builder.scalar(size - 1, element));
}

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

void tessera::addVaried(ArrayRef<Operation *> ops, ValueSet &varied) {
  for (Operation *op : ops) {
    if (!isa<AdjointOpInterface>(op)) continue;
    auto isVaried = [&](unsigned i) { return varied.contains(op->getOperand(i)); };
    if (llvm::none_of(op->getOperands(), [&](Value v) { return varied.contains(v); })) continue;
    auto repeat = dyn_cast<RepeatOp>(op);
    ValueSet inside = repeat ? variedInRepeat(repeat, isVaried) : ValueSet();
    for (OpResult result : op->getResults())
      if (hasGradient(result) && (!repeat || inside.contains(repeat.getYield().getValues()[result.getResultNumber()])))
        varied.insert(result);
  }
}

void tessera::addUseful(ArrayRef<Operation *> ops, ValueSet &useful) {
  for (Operation *op : llvm::reverse(ops)) {
    if (!isa<AdjointOpInterface>(op)) continue;
    auto isUseful = [&](unsigned i) { return useful.contains(op->getResult(i)); };
    if (llvm::none_of(op->getResults(), [&](Value v) { return useful.contains(v); })) continue;
    auto repeat = dyn_cast<RepeatOp>(op);
    ValueSet inside = repeat ? usefulInRepeat(repeat, isUseful) : ValueSet();
    for (OpOperand &operand : op->getOpOperands())
      if (hasGradient(operand.get()) &&
          (!repeat || inside.contains(repeat.getBlock().getArgument(1 + operand.getOperandNumber()))))
        useful.insert(operand.get());
  }
}

ValueSet tessera::variedInRepeat(RepeatOp repeat, function_ref<bool(unsigned)> isOperandVaried) {
  ValueSet varied;
  for (unsigned i = 0, e = repeat->getNumOperands(); i < e; ++i)
    if (BlockArgument argument = repeat.getBlock().getArgument(1 + i); isOperandVaried(i) && hasGradient(argument))
      varied.insert(argument);
  SmallVector<Operation *> ops = opsOf(repeat.getBlock());
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    addVaried(ops, varied);
    for (auto [argument, yielded] : llvm::zip(repeat.getCarriedArgs(), repeat.getYield().getValues()))
      if (varied.contains(yielded)) isChanged |= varied.insert(argument).second;
  }
  return varied;
}

ValueSet tessera::usefulInRepeat(RepeatOp repeat, function_ref<bool(unsigned)> isResultUseful) {
  ValueSet useful;
  ValueRange yielded = repeat.getYield().getValues();
  for (auto [i, value] : llvm::enumerate(yielded))
    if (isResultUseful(i) && hasGradient(value)) useful.insert(value);
  SmallVector<Operation *> ops = opsOf(repeat.getBlock());
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    addUseful(ops, useful);
    for (auto [argument, value] : llvm::zip(repeat.getCarriedArgs(), yielded))
      if (useful.contains(argument)) isChanged |= useful.insert(value).second;
  }
  return useful;
}

bool tessera::passesZeros(Operation *op) {
  return isa<ElementwiseOpInterface, ReduceOp, GatherOp, ScatterAddOp, SliceOp, PadOp, ReorderOp>(op) || isReshape(op);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

ReverseMode::ReverseMode(GraphBuilder &builder, ArrayRef<Operation *> ops, ValueRange wrt)
    : builder(builder), ops(ops), wrt(wrt), found(wrt.size()), varied(wrt.begin(), wrt.end()) {
  addVaried(this->ops, varied); // 1.
}

void ReverseMode::accumulate(Value value, Value gradient, bool isMasked) { // 2.
  if (!varied.contains(value)) return;
  assert(value.getType() == gradient.getType() && "a gradient has the type of its value");
  Gradient &all = gradients[value];
  all.sum = all.sum ? builder.add(all.sum, gradient) : gradient;
  all.isMasked &= isMasked;
}

void ReverseMode::run() { // 3.
  for (Operation *op : llvm::reverse(ops)) visit(op);
  for (auto [i, value] : llvm::enumerate(wrt))
    if (!found[i]) found[i] = gradients.lookup(value).sum;
}

/// The ops between `previous`, null for the beginning of the block, and the insertion point.
static auto opsAfter(Operation *previous, GraphBuilder &builder) {
  Block *block = builder.getInsertionBlock();
  return llvm::make_range(previous ? std::next(previous->getIterator()) : block->begin(), builder.getInsertionPoint());
}

/// The ops of an adjoint are named after the op they belong to, and kept in f32 if it is.
static void labelOps(Operation *previous, GraphBuilder &builder, StringAttr name, Attribute precision) {
  for (Operation &op : opsAfter(previous, builder)) {
    if (isa<ConstantOp>(op)) continue;
    if (name && !op.hasAttr(attrs::name)) op.setAttr(attrs::name, name);
    if (precision) op.setAttr(attrs::precision, precision);
  }
}

/// The gradients of an op's results, which are complete. An adjoint may replace its op (a repeat that gains results),
/// so what is known of the results is settled first.
SmallVector<ReverseMode::Gradient> ReverseMode::takeGradients(Operation *op) {
  SmallVector<Gradient> taken;
  for (Value result : op->getResults()) {
    Gradient gradient = gradients.lookup(result);
    for (auto [i, value] : llvm::enumerate(wrt))
      if (value == result) found[i] = gradient.sum;
    gradients.erase(result);
    taken.push_back(gradient);
  }
  return taken;
}

/// `gradient`, a part of an operand's gradient, where that of the result is not 0, else 0. Its own value if every
/// factor is finite.
Value ReverseMode::keepZeros(Value gradient, Value ofResult) {
  nonFinite.exclude(ofResult);
  if (gradient == ofResult || !nonFinite.contains(gradient)) return gradient;
  Value zero = builder.scalar(0, tensorType(gradient).getElementType());
  return builder.select(builder.compare(Predicate::NE, ofResult, zero), gradient, zero);
}

void ReverseMode::visit(Operation *op) {
  SmallVector<Gradient> taken = takeGradients(op);
  SmallVector<Value> incoming = llvm::map_to_vector(taken, [](const Gradient &gradient) { return gradient.sum; });
  auto adjoint = dyn_cast<AdjointOpInterface>(op);
  if (!adjoint || llvm::none_of(incoming, [](Value v) { return v != nullptr; })) return;
  SmallVector<Value> operands(op->getOperands());
  StringRef name = userName(op);
  StringAttr gradientName = name.empty() ? StringAttr() : builder.getStringAttr(name + ".grad");
  Attribute precision = op->getAttr(attrs::precision);
  Location outer = builder.getLoc();
  builder.setLoc(op->getLoc());
  auto point = builder.getInsertionPoint();
  Operation *previous = point == builder.getInsertionBlock()->begin() ? nullptr : &*std::prev(point);
  // What passes zeros has one result.
  bool isMasked = passesZeros(op) && taken[0].isMasked, isElementwise = isa<ElementwiseOpInterface>(op);
  // Asked now, since the adjoint of a repeat replaces it.
  SmallVector<bool> startsMask = llvm::map_to_vector(op->getOpOperands(), startsMaskedGradient);
  adjoint.buildAdjoint(
      builder, incoming, [&](unsigned i) { return varied.contains(operands[i]); },
      [&](unsigned i, Value gradient) {
        if (!varied.contains(operands[i])) return;
        if (isMasked && isElementwise) gradient = keepZeros(gradient, incoming[0]);
        accumulate(operands[i], builder.sumTo(gradient, tensorType(operands[i])), isMasked || startsMask[i]);
      });
  labelOps(previous, builder, gradientName, precision);
  builder.setLoc(outer);
}
