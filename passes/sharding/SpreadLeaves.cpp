//===- SpreadLeaves.cpp - iterations of a repeat divided among ranks ------===//
//
// 1. Split what the repeat slices into the parts of the ranks.
// 2. Rewrite the body op by op. What follows from a slice, or from the number of the iteration, is computed for all
//    ranks at once: operands broadcast by name, so an op on such an operand is the same op with the mesh axis in its
//    result. What a repeat inside carries gets the axis if any of its operands has it.
// 3. Merge the parts of what is stacked.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/SpreadLeaves.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

namespace {
class SpreadBody {
public:
  SpreadBody(GraphBuilder &builder, AxisAttr ranks) : b(builder), ranks(ranks) {}

  void map(Value before, Value after) { values.map(before, after); }
  Value lookup(Value before) const { return values.lookup(before); }
  /// A value of the body with the mesh axis, repeated along it if it is the same for all ranks.
  Value spread(Value before) { return b.broadcast(lookup(before), withRanks(tensorType(before))); }
  /// Builds the ops of a block, without the terminator, at the builder's insertion point.
  void build(Block &block);

private:
  /// The ranks may divide what a leaf reads, too, such as weights: that has the mesh axis before.
  bool isSpread(Value before) const {
    return tensorType(lookup(before)).hasAxis(ranks.getName()) && !tensorType(before).hasAxis(ranks.getName());
  }
  NamedTensorType withRanks(NamedTensorType type) { return b.withAxis(type, ranks); }
  void buildOp(Operation *op);
  void buildDraw(RandomOp random);
  void buildRepeat(RepeatOp repeat);
  void buildRegion(AttentionOp attention, Region &from, Region &to);

  GraphBuilder &b;
  AxisAttr ranks;
  IRMapping values;
};
} // namespace

/// The index of a draw is that in the leaf; the number of the leaf is a salt.
void SpreadBody::buildDraw(RandomOp random) {
  NamedAttrList strides;
  for (auto [axis, stride] : llvm::zip(random.getType().getAxes(), random.getIndexStrides()))
    strides.set(axis.getName(), b.getI64IntegerAttr(stride));
  strides.set(ranks.getName(), b.getI64IntegerAttr(0));
  SmallVector<Value> salts = llvm::map_to_vector(random.getSalts(), [&](Value salt) { return lookup(salt); });
  Value first = random.getFirst() ? lookup(random.getFirst()) : Value();
  auto draw = RandomOp::create(b, b.getLoc(), withRanks(random.getType()), random.getDistribution(), random.getSite(),
                               lookup(random.getSeed()), lookup(random.getStep()), salts, first, ArrayAttr(),
                               strides.getDictionary(b.getContext()));
  draw->setDiscardableAttrs(random->getDiscardableAttrDictionary());
  map(random.getResult(), draw.getResult());
}

/// A region of attention, on scores or probabilities and the captures.
void SpreadBody::buildRegion(AttentionOp attention, Region &from, Region &to) {
  if (from.empty()) return;
  OpBuilder::InsertionGuard guard(b);
  Block *block = new Block();
  to.push_back(block);
  Block::BlockArgListType arguments = from.front().getArguments();
  map(arguments.front(), block->addArgument(withRanks(tensorType(arguments.front())), b.getLoc()));
  for (auto [argument, capture] : llvm::zip(arguments.drop_front(), attention.getCaptures()))
    map(argument, block->addArgument(lookup(capture).getType(), b.getLoc()));
  b.setInsertionPointToEnd(block);
  build(from.front());
  SmallVector<Value> yielded =
      llvm::map_to_vector(from.front().getTerminator()->getOperands(), [&](Value value) { return spread(value); });
  YieldOp::create(b, b.getLoc(), yielded);
}

void SpreadBody::buildRepeat(RepeatOp repeat) {
  bool isAnySpread = llvm::any_of(repeat.getOperands(), [&](Value operand) { return isSpread(operand); });
  if (!isAnySpread) return void(b.clone(*repeat, values));
  SmallVector<Value> operands;
  Block *body = new Block();
  map(repeat.getInduction(), body->addArgument(repeat.getInduction().getType(), repeat.getLoc()));
  size_t carried = repeat.getCarried().size();
  for (auto [i, operand] : llvm::enumerate(repeat.getOperands())) {
    operands.push_back(i < carried ? spread(operand) : lookup(operand));
    BlockArgument argument = repeat.getBlock().getArgument(1 + i);
    NamedTensorType type = tensorType(argument);
    bool hasRanks = i < carried || isSpread(operand);
    map(argument, body->addArgument(hasRanks ? withRanks(type) : type, argument.getLoc()));
  }
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(body);
    build(repeat.getBlock());
    for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues()))
      yielded.push_back(i < carried ? spread(value) : lookup(value));
    YieldOp::create(b, repeat.getLoc(), yielded);
  }
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(yielded))
    types.push_back(i < carried ? tensorType(value) : b.withAxis(tensorType(value), repeat.getAxis()));
  ValueRange all(operands);
  size_t sliced = repeat.getSliced().size();
  auto made =
      RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverseAttr(), all.take_front(carried),
                       all.slice(carried, sliced), all.drop_front(carried + sliced), ArrayAttr());
  made->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  made.getBody().push_back(body);
  values.map(repeat.getResults(), made.getResults());
}

void SpreadBody::buildOp(Operation *op) {
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return isSpread(operand); })) {
    b.clone(*op, values);
    return;
  }
  if (auto random = dyn_cast<RandomOp>(op)) return buildDraw(random);
  // The updates have the other axes of what is written, and composites have those of their factors.
  auto attention = dyn_cast<AttentionOp>(op);
  ValueRange factors = op->getOperands();
  if (attention) factors = factors.take_front(attention.getNumFactors());
  if (auto scatter = dyn_cast<ScatterAddOp>(op)) map(scatter.getUpdates(), spread(scatter.getUpdates()));
  if (isa<DecomposeOpInterface>(op))
    for (Value factor : factors) map(factor, spread(factor));
  Operation *clone = b.cloneWithoutRegions(*op, values);
  for (auto [from, to] : llvm::zip(op->getRegions(), clone->getRegions())) buildRegion(attention, from, to);
  for (Value result : clone->getResults()) result.setType(withRanks(tensorType(result)));
}

void SpreadBody::build(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (auto repeat = dyn_cast<RepeatOp>(op))
      buildRepeat(repeat);
    else
      buildOp(&op);
  }
}

/// One repeat, whose iterations the ranks along a mesh axis divide.
static void spread(RepeatOp repeat, AxisAttr ranks) {
  assert(repeat.getCarried().empty() && "leaves are independent of each other");
  StringRef name = repeat.getAxis().getName();
  int64_t each = repeat.getAxis().getSize() / ranks.getSize();
  GraphBuilder b(repeat);
  AxisAttr own = tessera::axis(b.getContext(), name, each);
  SpreadBody spreading(b, ranks);
  SmallVector<Value> sliced; // 1.
  for (Value operand : repeat.getSliced()) sliced.push_back(b.split(operand, name, {ranks, own}));

  SmallVector<Value> yielded; // 2.
  Block *body = new Block();
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(body);
    Value number = body->addArgument(repeat.getInduction().getType(), repeat.getLoc());
    for (auto [argument, operand] : llvm::zip(repeat.getSlicedArgs(), sliced))
      spreading.map(argument, body->addArgument(tensorType(operand).withoutAxis(name), argument.getLoc()));
    for (Value argument : repeat.getInvariantArgs())
      spreading.map(argument, body->addArgument(argument.getType(), argument.getLoc()));
    spreading.map(repeat.getInduction(), b.add(b.mul(b.index(ranks), static_cast<double>(each)), number));
    spreading.build(repeat.getBlock());
    for (Value value : repeat.getYield().getValues()) yielded.push_back(spreading.spread(value));
    YieldOp::create(b, repeat.getLoc(), yielded);
  }
  b.setLoc(repeat.getLoc());
  SmallVector<Type> types;
  for (Value value : yielded) types.push_back(b.withAxis(tensorType(value), own));
  auto made = RepeatOp::create(b, repeat.getLoc(), types, own, repeat.getReverseAttr(), ValueRange(), sliced,
                               repeat.getInvariants(), ArrayAttr());
  made->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  made->removeAttr(attrs::along);
  made.getBody().push_back(body);

  for (auto [before, parts] : llvm::zip(repeat.getResults(), made.getResults())) // 3.
    before.replaceAllUsesWith(b.merge(parts, {ranks.getName(), name}, name));
  repeat.erase();
}

void tessera::spreadLeaves(func::FuncOp function, const ProgramMesh &mesh) {
  for (auto repeat : llvm::make_early_inc_range(function.getBody().front().getOps<RepeatOp>()))
    if (auto along = repeat->getAttrOfType<StringAttr>(attrs::along))
      spread(repeat, tessera::axis(function.getContext(), along.getValue(), mesh.size(along.getValue())));
}
