//===- Partition.cpp - the driver of `tsr-partition` ----------------------===//
//
// 1. Declare the mesh axes, as the outermost ones.
// 2. Build each entry function anew in wide form (sharding/WideBuilder.h), op by op: operands are brought to the
//    sharding that the op wants, and the op to what it is on parts (sharding/WideOps.h). Composites along axes that
//    they mix are decomposed first.
// 3. Results of functions are brought to the sharding of their states; what is behind the end of a divided axis of a
//    state is zero.
// 4. Ranks divide the iterations of a repeat over leaves (sharding/SpreadLeaves.h).
// 5. Sums over mesh axes that are added to each other become one, in repeats too (sharding/LateReductions.h).
// 6. Where all readers of such a sum want the same part, it is taken before them (sharding/EarlyParts.h).
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "passes/Passes.h"
#include "passes/sharding/EarlyParts.h"
#include "passes/sharding/LateReductions.h"
#include "passes/sharding/Notes.h"
#include "passes/sharding/SpreadLeaves.h"
#include "passes/sharding/WideOps.h"

namespace tessera {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// A function, or the body of a repeat, in wide form.
class WideBlock {
public:
  WideBlock(WideBuilder &b, DenseMap<Value, WideValue> &values) : b(b), values(values) {}

  /// Builds all ops but the terminator at the builder's insertion point.
  void build(Block &block);
  WideValue lookup(Value value) const {
    auto it = values.find(value);
    assert(it != values.end() && "a value is read before it is made");
    return it->second;
  }

private:
  void buildOp(Operation *op);
  void decompose(Operation *op);
  void buildRepeat(RepeatOp repeat);

  WideBuilder &b;
  DenseMap<Value, WideValue> &values;
};
} // namespace

/// The ops that a composite becomes are divided as it is, along the axes that they have.
void WideBlock::decompose(Operation *op) {
  Sharding sharding = Sharding::of(op);
  Operation *previous = op->getPrevNode();
  GraphBuilder plain(op);
  SmallVector<Value> results = cast<DecomposeOpInterface>(op).decompose(plain);
  SmallVector<Operation *> parts;
  for (Operation *part = previous ? previous->getNextNode() : &op->getBlock()->front(); part != op;
       part = part->getNextNode())
    parts.push_back(part);
  for (Operation *part : parts) {
    Sharding own;
    for (AxisAttr axis : spaceOf(part))
      if (StringRef along = sharding.meshAxis(axis.getName());
          !along.empty() && canDivide(part, axis.getName(), b.getMesh().size(along)))
        own.divide(axis.getName(), along);
    if (!own.isEmpty()) part->setAttr(attrs::sharding, own.getAttribute(op->getContext()));
    copyNotes(op, part), copyPrecision(op, part);
    buildOp(part);
  }
  for (auto [result, value] : llvm::zip(op->getResults(), results))
    values[result] = b.convert(lookup(value), sharding.within(tensorType(result)));
}

void WideBlock::buildRepeat(RepeatOp repeat) {
  SmallVector<Sharding> shardings;
  for (Attribute entry : repeat->getAttrOfType<ArrayAttr>(attrs::sharding))
    shardings.push_back(Sharding(cast<DictionaryAttr>(entry)));
  SmallVector<Value> operands;
  Block *body = new Block();
  body->addArgument(repeat.getInduction().getType(), repeat.getLoc());
  values[repeat.getInduction()] = {body->getArgument(0), tensorType(repeat.getInduction()), {}, true};
  size_t carried = repeat.getCarried().size(), sliced = repeat.getSliced().size();
  for (auto [i, operand] : llvm::enumerate(repeat.getOperands())) {
    // What a repeat carries has zeros behind its end, so that its body knows of it.
    WideValue value = b.convert(lookup(operand), shardings[i]);
    if (i < carried) value = b.withZeroPadding(value);
    operands.push_back(value.value);
    BlockArgument argument = repeat.getBlock().getArgument(1 + i);
    NamedTensorType whole = tensorType(argument);
    BlockArgument wide = body->addArgument(b.wideType(whole, shardings[i]), repeat.getLoc());
    values[argument] = {wide, whole, shardings[i], value.hasZeroPadding};
  }
  OpBuilder::InsertionGuard guard(b);
  OpBuilder::InsertPoint outside = b.saveInsertionPoint();
  b.setInsertionPointToEnd(body);
  build(repeat.getBlock());
  SmallVector<Value> yielded;
  SmallVector<WideValue> results;
  for (auto [i, value] : llvm::enumerate(repeat.getYield().getValues())) {
    WideValue wide = lookup(value);
    bool isCarried = i < carried;
    wide = b.convert(wide, shardings[isCarried ? i : repeat->getNumOperands() + i - carried]);
    if (isCarried) wide = b.withZeroPadding(wide);
    yielded.push_back(wide.value);
    wide.whole = tensorType(repeat.getResult(i));
    results.push_back(wide);
  }
  YieldOp::create(b, b.getLoc(), yielded);
  b.restoreInsertionPoint(outside);
  SmallVector<Type> types;
  for (const WideValue &result : results) types.push_back(b.wideType(result.whole, result.sharding));
  ValueRange all(operands);
  auto wide =
      RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverseAttr(), all.take_front(carried),
                       all.slice(carried, sliced), all.drop_front(carried + sliced), ArrayAttr());
  wide.getBody().push_back(body);
  for (NamedAttribute attribute : repeat->getDiscardableAttrs())
    if (attribute.getName() != attrs::sharding) wide->setDiscardableAttr(attribute.getName(), attribute.getValue());
  for (auto [i, result] : llvm::enumerate(results)) {
    result.value = wide.getResult(i);
    values[repeat.getResult(i)] = result;
  }
}

void WideBlock::buildOp(Operation *op) {
  Sharding sharding = Sharding::of(op);
  bool isMixed =
      llvm::any_of(sharding.getParts(), [&](const Sharding::Part &part) { return mustDecompose(op, part.axis); });
  if (isMixed) return decompose(op);
  Block *block = b.getInsertionBlock();
  Operation *previous = block->empty() ? nullptr : &block->back();
  b.setLoc(op->getLoc());
  SmallVector<WideValue> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(b.convert(lookup(operand.get()), operandSharding(operand, sharding)));
  for (auto [result, wide] : llvm::zip(op->getResults(), buildWide(b, op, operands, sharding))) values[result] = wide;
  copyNotesToOpsAfter(previous, *block, op);
}

void WideBlock::build(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      buildRepeat(repeat);
    else
      buildOp(&op);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A memory order that the outside wants, with the mesh axes outermost; null stays null.
static ArrayAttr withMeshAxes(ArrayAttr order, const Sharding &sharding, const ProgramMesh &mesh) {
  if (!order) return order;
  Builder b(order.getContext());
  SmallVector<Attribute> axes;
  for (AxisAttr axis : mesh.getAxes())
    if (sharding.uses(axis.getName())) axes.push_back(b.getStringAttr(axis.getName()));
  llvm::append_range(axes, order);
  return b.getArrayAttr(axes);
}

/// The tag of an input, with such an order and with what is divided of it.
static DictionaryAttr withMeshAxes(DictionaryAttr tag, NamedTensorType whole, const Sharding &sharding, Blocks blocks,
                                   const ProgramMesh &mesh) {
  ArrayAttr order = withMeshAxes(tag.getAs<ArrayAttr>("order"), sharding, mesh);
  NamedAttrList entries(tag);
  if (order) entries.set("order", order);
  if (!sharding.isEmpty()) entries.set("divided", dividedAxes(whole, sharding, blocks));
  return entries.getDictionary(tag.getContext());
}

static Sharding argumentSharding(func::FuncOp function, unsigned argument) {
  return Sharding(function.getArgAttrOfType<DictionaryAttr>(argument, attrs::sharding));
}

static void partition(func::FuncOp function, const ProgramMesh &mesh) {
  auto module = function->getParentOfType<ModuleOp>();
  WideBuilder b(module, mesh, function.getLoc());
  DenseMap<Value, WideValue> values;
  Block &old = function.getBody().front();
  Block *body = new Block();
  for (BlockArgument argument : old.getArguments()) {
    unsigned number = argument.getArgNumber();
    Sharding sharding = argumentSharding(function, number);
    NamedTensorType whole = tensorType(argument);
    Value wide = body->addArgument(b.wideType(whole, sharding), argument.getLoc());
    values[argument] = {wide, whole, sharding, /*hasZeroPadding=*/!argumentState(function, number).empty()};
    if (auto tag = function.getArgAttrOfType<DictionaryAttr>(number, attrs::input))
      function.setArgAttr(number, attrs::input, withMeshAxes(tag, whole, sharding, blocksOf(argument), mesh));
  }
  function.getBody().push_back(body);
  b.setInsertionPointToEnd(body);
  WideBlock(b, values).build(old);
  SmallVector<Value> results;
  b.setLoc(old.getTerminator()->getLoc());
  for (auto [i, value] : llvm::enumerate(old.getTerminator()->getOperands())) {
    Sharding sharding(function.getResultAttrOfType<DictionaryAttr>(i, attrs::sharding));
    results.push_back(b.withZeroPadding(b.convert(values[value], sharding)).value);
  }
  func::ReturnOp::create(b, b.getLoc(), results);
  old.erase();
  function.setType(FunctionType::get(function.getContext(), body->getArgumentTypes(), ValueRange(results).getTypes()));
}

/// An error if the program has been divided before.
static LogicalResult checkIsWhole(ModuleOp module, const ProgramMesh &mesh) {
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  for (AxisAttr axis : mesh.getAxes())
    if (declared && llvm::is_contained(names(declared), axis.getName()))
      return module.emitError("`") << axis.getName() << "` is an axis of the program already: it is divided";
  return success();
}

/// An error if ranks cannot divide the iterations of a repeat that names a mesh axis.
static LogicalResult checkLeaves(ModuleOp module, const ProgramMesh &mesh) {
  WalkResult result = module.walk([&](RepeatOp repeat) {
    Attribute named = repeat->getAttr(attrs::along);
    if (!named) return WalkResult::advance();
    auto along = dyn_cast<StringAttr>(named);
    bool isPossible = along && mesh.has(along.getValue()) && repeat.getCarried().empty() &&
                      isa<func::FuncOp>(repeat->getParentOp()) &&
                      repeat.getAxis().getSize() % mesh.size(along.getValue()) == 0;
    if (isPossible) return WalkResult::advance();
    repeat.emitOpError("cannot be divided along ") << named;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// 1.
static void declareMeshAxes(ModuleOp module, const ProgramMesh &mesh) {
  SmallVector<StringRef> order = llvm::map_to_vector(mesh.getAxes(), [](AxisAttr axis) { return axis.getName(); });
  if (auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes)) llvm::append_range(order, names(declared));
  module->setAttr(attrs::axes, Builder(module.getContext()).getStrArrayAttr(order));
}

namespace {
struct PartitionPass : tessera::impl::PartitionPassBase<PartitionPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ProgramMesh mesh = ProgramMesh::of(module);
    if (mesh.getAxes().empty()) return;
    if (failed(verifyShardings(module, mesh)) || failed(checkIsWhole(module, mesh)) ||
        failed(checkLeaves(module, mesh)))
      return signalPassFailure();
    declareMeshAxes(module, mesh);
    for (func::FuncOp function : entryFunctions(module)) {
      partition(function, mesh);
      spreadLeaves(function, mesh);
      delayReductions(function, mesh);
      takePartsEarly(function, mesh);
    }
    for (StateOp state : stateTable(module)) {
      Sharding sharding = Sharding::of(state);
      if (!sharding.isEmpty()) state->setAttr(attrs::divided, dividedAxes(state.getTensorType(), sharding));
      state.setTypeAttr(TypeAttr::get(tessera::wideType(state.getTensorType(), sharding, mesh, module)));
      state.setOrderAttr(withMeshAxes(state.getOrderAttr(), sharding, mesh));
    }
  }
};
} // namespace
