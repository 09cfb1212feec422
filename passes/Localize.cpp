//===- Localize.cpp - the driver of `tsr-localize` ------------------------===//
//
// 1. Build each entry function anew without mesh axes, op by op: a value is this rank's part. An op on a mesh axis
//    becomes an exchange (sharding/Exchanges.h), or reads the rank's position along it.
// 2. The positions that a function reads are further inputs of it.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "ir/program/Repeats.h"
#include "ir/program/ShardSettings.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/sharding/Exchanges.h"
#include "passes/sharding/Notes.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tessera {
#define GEN_PASS_DEF_LOCALIZEPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {
/// A function on one rank.
class LocalFunction {
public:
  LocalFunction(func::FuncOp function, const ProgramMesh &mesh, int64_t leastDivided, bool addsInLibrary)
      : function(function), mesh(mesh), b(function->getParentOfType<ModuleOp>(), function.getLoc()),
        exchanges(b, mesh, leastDivided, addsInLibrary) {}

  void build();

private:
  void build(Block &block);
  void buildOp(Operation *op);
  void buildRepeat(RepeatOp repeat);
  void buildReduction(ReduceOp reduce);
  SmallVector<StringRef> meshAxesNamedBy(Operation *op) const;
  Value contract(ContractOp op);
  Value onWholeAxes(Operation *op, ArrayRef<StringRef> mentioned);
  Value draw(RandomOp op);
  SmallVector<Value> sameOp(Operation *op);
  SmallVector<Value> attention(AttentionOp op);

  NamedTensorType localType(Value value) const {
    NamedTensorType type = tensorType(value);
    return type.withAxes(llvm::filter_to_vector(type.getAxes(), [&](AxisAttr a) { return !mesh.has(a.getName()); }));
  }
  SmallVector<StringRef> meshAxesOf(ArrayAttr axes) const {
    return llvm::filter_to_vector(names(axes), [&](StringRef name) { return mesh.has(name); });
  }
  SmallVector<StringRef> ownAxesOf(ArrayAttr axes) const {
    return llvm::filter_to_vector(names(axes), [&](StringRef name) { return !mesh.has(name); });
  }
  Value local(Value wide) const {
    Value value = locals.lookup(wide);
    assert(value && "a value is read before it is made");
    return value;
  }
  /// This rank's position along a mesh axis, where ops are built: i32.
  Value position(StringRef meshAxis) { return position(meshAxis, b.getInsertionBlock()); }
  Value position(StringRef meshAxis, Block *block);

  func::FuncOp function;
  const ProgramMesh &mesh;
  GraphBuilder b;
  Exchanges exchanges;
  DenseMap<Value, Value> locals;
  DenseSet<Operation *> done;             ///< ops whose results were built with an earlier one
  SmallVector<StringRef> axesOfPositions; ///< of the function's further arguments, in their order
  DenseMap<std::pair<Block *, StringRef>, Value> positions;
};
} // namespace

Value LocalFunction::position(StringRef meshAxis, Block *block) {
  if (Value known = positions.lookup({block, meshAxis})) return known;
  Value made;
  if (auto repeat = dyn_cast<RepeatOp>(block->getParentOp())) {
    made = addInvariant(repeat, position(meshAxis, repeat->getBlock()));
  } else {
    made = block->addArgument(b.scalarType(b.getI32Type()), function.getLoc());
    axesOfPositions.push_back(meshAxis);
  }
  return positions[{block, meshAxis}] = made;
}

//===----------------------------------------------------------------------===//
// Ops on mesh axes
//===----------------------------------------------------------------------===//

/// The mesh axes in the attributes of an op, in the order of the mesh.
SmallVector<StringRef> LocalFunction::meshAxesNamedBy(Operation *op) const {
  llvm::StringSet<> named;
  for (NamedAttribute attribute : op->getAttrs()) {
    if (isNote(attribute)) continue;
    if (auto name = dyn_cast<StringAttr>(attribute.getValue())) named.insert(name.getValue());
    if (auto list = dyn_cast<ArrayAttr>(attribute.getValue()))
      for (Attribute entry : list)
        if (auto name = dyn_cast<StringAttr>(entry)) named.insert(name.getValue());
  }
  SmallVector<StringRef> found;
  for (AxisAttr axis : mesh.getAxes())
    if (named.contains(axis.getName())) found.push_back(axis.getName());
  return found;
}

Value LocalFunction::contract(ContractOp op) {
  Value lhs = local(op.getLhs()), rhs = local(op.getRhs());
  SmallVector<StringRef> own = ownAxesOf(op.getOver());
  Value value = own.empty() ? b.mul(lhs, rhs) : b.contract(lhs, rhs, own, op.getType().getElementType());
  return exchanges.reduce({ReduceKind::Sum, op.getType().getElementType()}, value, meshAxesOf(op.getOver()));
}

/// An op that names mesh axes: on what all ranks have along them. Of the result this rank has its own part.
Value LocalFunction::onWholeAxes(Operation *op, ArrayRef<StringRef> mentioned) {
  IRMapping map;
  for (Value operand : op->getOperands()) {
    Value value = local(operand);
    for (StringRef along : mentioned)
      if (tensorType(operand).hasAxis(along)) value = exchanges.gatherAxis(value, along);
    map.map(operand, value);
  }
  Operation *clone = b.clone(*op, map);
  auto wide = tensorType(op->getResult(0));
  clone->getResult(0).setType(wide.withAxes(llvm::filter_to_vector(wide.getAxes(), [&](AxisAttr axis) {
    return !mesh.has(axis.getName()) || llvm::is_contained(mentioned, axis.getName());
  })));
  Value value = clone->getResult(0);
  for (StringRef along : mentioned)
    if (wide.hasAxis(along)) value = b.gather(value, along, position(along));
  return value;
}

Value LocalFunction::draw(RandomOp op) {
  SmallVector<NamedAttribute> strides;
  Value first;
  for (auto [axis, stride] : llvm::zip(op.getType().getAxes(), op.getIndexStrides())) {
    if (!mesh.has(axis.getName())) {
      strides.push_back(b.getNamedAttr(axis.getName(), b.getI64IntegerAttr(stride)));
      continue;
    }
    if (stride == 0) continue;
    Value start = b.mul(b.cast(position(axis.getName()), b.getI64Type()), static_cast<double>(stride));
    first = first ? b.add(first, start) : start;
  }
  if (op.getType() == localType(op)) return sameOp(op).front();
  SmallVector<Value> salts = llvm::map_to_vector(op.getSalts(), [&](Value salt) { return local(salt); });
  return RandomOp::create(b, b.getLoc(), localType(op), op.getDistribution(), op.getSite(), local(op.getSeed()),
                          local(op.getStep()), salts, first, ArrayAttr(), b.getDictionaryAttr(strides));
}

/// Follows a value that is read for its parts along some mesh axes alone, each of another axis. Returns these parts, in
/// their order, and the ops that take them. The value becomes the last part.
static std::pair<SmallVector<WantedPart>, SmallVector<Operation *>> followParts(Value &value,
                                                                                ArrayRef<StringRef> meshAxes) {
  SmallVector<WantedPart> parts;
  SmallVector<Operation *> ops;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    auto pad = dyn_cast<PadOp>(user);
    auto split = dyn_cast<SplitOp>(pad && pad->hasOneUse() ? *pad->user_begin() : user);
    if (!split || (pad && pad.getAxis() != split.getAxis())) break;
    WantedPart part{names(split.getInto()).front(), split.getAxis()};
    bool isDivided = llvm::any_of(parts, [&](const WantedPart &before) { return before.axis == part.axis; });
    if (isDivided || !llvm::is_contained(meshAxes, part.along)) break;
    if (pad) part.offset = pad.getOffset(), part.padded = tensorType(split.getX()).getSize(part.axis);
    parts.push_back(part);
    if (pad) ops.push_back(pad);
    ops.push_back(split);
    value = split.getResult();
  }
  return {parts, ops};
}

/// The floating-point type that all readers round a value to, a smaller one than its own; null if there is none.
static Type roundedTypeOf(Value value) {
  Type own = tensorType(value).getElementType(), rounded;
  for (Operation *user : value.getUsers()) {
    auto cast = dyn_cast<CastOp>(user);
    Type to = cast ? tensorType(cast.getResult()).getElementType() : Type();
    bool isSmaller =
        to && isa<FloatType>(own) && isa<FloatType>(to) && to.getIntOrFloatBitWidth() < own.getIntOrFloatBitWidth();
    if (!isSmaller || (rounded && rounded != to)) return Type();
    rounded = to;
  }
  return rounded;
}

/// Where every rank wants its part only, `reduce` over a mesh axis is followed by a split along it, perhaps of the
/// padded axis (sharding/EarlyParts.h): a reduce-scatter. First along those mesh axes whose ranks are near to each
/// other: they exchange most.
void LocalFunction::buildReduction(ReduceOp reduce) {
  SmallVector<StringRef> own = ownAxesOf(reduce.getOver()), along = meshAxesOf(reduce.getOver());
  std::reverse(along.begin(), along.end());
  bool isTree = reduce->hasAttr(attrs::tree);
  Value value = local(reduce.getX()), wide = reduce.getResult();
  if (!own.empty()) value = b.reduce(reduce.getKind(), value, own);
  if (!own.empty() && isTree) value.getDefiningOp()->setAttr(attrs::tree, b.getUnitAttr());
  auto [parts, taken] = followParts(wide, along);
  done.insert(taken.begin(), taken.end());
  Type rounded = along.empty() ? Type() : roundedTypeOf(wide);
  Type element = rounded ? rounded : tensorType(wide).getElementType();
  value = exchanges.reduce({reduce.getKind(), element, isTree, parts}, value, along);
  if (!rounded) {
    locals[wide] = value;
    return;
  }
  for (Operation *cast : wide.getUsers()) {
    locals[cast->getResult(0)] = value;
    done.insert(cast);
  }
}

//===----------------------------------------------------------------------===//
// All ops
//===----------------------------------------------------------------------===//

SmallVector<Value> LocalFunction::sameOp(Operation *op) {
  IRMapping map;
  for (Value operand : op->getOperands()) map.map(operand, local(operand));
  Operation *clone = b.clone(*op, map);
  for (auto [result, wide] : llvm::zip(clone->getResults(), op->getResults())) result.setType(localType(wide));
  return llvm::to_vector_of<Value>(clone->getResults());
}

/// One of a rank's leaf, whose regions have the mesh axis too. What they read of a rank's position is captured.
SmallVector<Value> LocalFunction::attention(AttentionOp op) {
  IRMapping map;
  for (Value operand : op->getOperands()) map.map(operand, local(operand));
  Operation *clone = b.cloneWithoutRegions(*op, map);
  for (auto [result, wide] : llvm::zip(clone->getResults(), op->getResults())) result.setType(localType(wide));
  for (auto [from, to] : llvm::zip(op->getRegions(), clone->getRegions())) {
    if (from.empty()) continue;
    OpBuilder::InsertionGuard guard(b);
    Block *block = new Block();
    to.push_back(block);
    for (BlockArgument argument : from.front().getArguments())
      locals[argument] = block->addArgument(localType(argument), argument.getLoc());
    b.setInsertionPointToEnd(block);
    build(from.front());
    YieldOp::create(b, b.getLoc(), local(from.front().getTerminator()->getOperand(0)));
  }
  return llvm::to_vector_of<Value>(clone->getResults());
}

void LocalFunction::buildOp(Operation *op) {
  if (done.contains(op)) return;
  b.setLoc(op->getLoc());
  Block *block = b.getInsertionBlock();
  Operation *previous = block->empty() ? nullptr : &block->back();
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    buildReduction(reduce);
  } else {
    using Values = SmallVector<Value>;
    SmallVector<StringRef> mentioned = meshAxesNamedBy(op);
    Values values =
        llvm::TypeSwitch<Operation *, Values>(op)
            .Case(
                [&](ContractOp contract) { return mentioned.empty() ? sameOp(op) : Values{this->contract(contract)}; })
            .Case([&](IndexOp index) {
              StringRef axis = tensorType(index.getResult()).getAxes().front().getName();
              if (!mesh.has(axis)) return sameOp(op);
              return Values{b.cast(position(axis), tensorType(index.getResult()).getElementType())};
            })
            .Case([&](RandomOp random) { return Values{draw(random)}; })
            .Case([&](AttentionOp op) { return attention(op); })
            .Default([&](Operation *) { return mentioned.empty() ? sameOp(op) : Values{onWholeAxes(op, mentioned)}; });
    for (auto [wide, value] : llvm::zip(op->getResults(), values)) locals[wide] = value;
  }
  copyNotesToOpsAfter(previous, *block, op);
}

void LocalFunction::buildRepeat(RepeatOp repeat) {
  auto localsOf = [&](ValueRange values) { return llvm::map_to_vector(values, [&](Value v) { return local(v); }); };
  SmallVector<Type> types = llvm::map_to_vector(repeat.getResults(), [&](Value v) -> Type { return localType(v); });
  auto made = RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverseAttr(),
                               localsOf(repeat.getCarried()), localsOf(repeat.getSliced()),
                               localsOf(repeat.getInvariants()), ArrayAttr());
  for (NamedAttribute note : repeat->getDiscardableAttrs()) made->setDiscardableAttr(note.getName(), note.getValue());
  Block *body = new Block();
  made.getBody().push_back(body);
  for (BlockArgument argument : repeat.getBlock().getArguments())
    locals[argument] = body->addArgument(localType(argument), argument.getLoc());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(body);
    build(repeat.getBlock());
    YieldOp::create(b, b.getLoc(), localsOf(repeat.getYield().getValues()));
  }
  for (auto [wide, value] : llvm::zip(repeat.getResults(), made.getResults())) locals[wide] = value;
}

void LocalFunction::build(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (auto repeat = dyn_cast<RepeatOp>(op))
      buildRepeat(repeat);
    else
      buildOp(&op);
  }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A tag's memory order without the mesh axes.
static ArrayAttr withoutMeshAxes(ArrayAttr order, const ProgramMesh &mesh) {
  if (!order) return order;
  auto own =
      llvm::filter_to_vector(order, [&](Attribute name) { return !mesh.has(cast<StringAttr>(name).getValue()); });
  return ArrayAttr::get(order.getContext(), own);
}

void LocalFunction::build() {
  Block &old = function.getBody().front();
  Block *body = new Block();
  function.getBody().push_back(body);
  for (BlockArgument argument : old.getArguments()) {
    locals[argument] = body->addArgument(localType(argument), argument.getLoc());
    auto tag = function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), attrs::input);
    if (!tag || !tag.get("order")) continue;
    NamedAttrList entries(tag);
    entries.set("order", withoutMeshAxes(tag.getAs<ArrayAttr>("order"), mesh));
    function.setArgAttr(argument.getArgNumber(), attrs::input, entries.getDictionary(function.getContext()));
  }
  b.setInsertionPointToEnd(body);
  build(old);
  SmallVector<Value> results =
      llvm::map_to_vector(old.getTerminator()->getOperands(), [&](Value value) { return local(value); });
  func::ReturnOp::create(b, old.getTerminator()->getLoc(), results);
  unsigned own = old.getNumArguments();
  old.erase();
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  attributes.resize(own, b.getDictionaryAttr({}));
  for (StringRef axis : axesOfPositions) {
    auto tag = b.getDictionaryAttr(
        {b.getNamedAttr("name", b.getStringAttr(axis)), b.getNamedAttr("role", b.getStringAttr("rank"))});
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(attrs::input, tag)));
  }
  function.setType(FunctionType::get(function.getContext(), body->getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(attributes);
}

namespace {
struct LocalizePass : tessera::impl::LocalizePassBase<LocalizePass> {
  using LocalizePassBase::LocalizePassBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ProgramMesh mesh = ProgramMesh::of(module);
    if (mesh.getAxes().empty()) return;
    bool addsInLibrary = ShardSettings::of(module).addsInLibrary;
    for (func::FuncOp function : entryFunctions(module))
      LocalFunction(function, mesh, leastDivided, addsInLibrary).build();
    for (StateOp state : stateTable(module)) {
      NamedTensorType type = state.getTensorType();
      state.setTypeAttr(TypeAttr::get(type.withAxes(
          llvm::filter_to_vector(type.getAxes(), [&](AxisAttr axis) { return !mesh.has(axis.getName()); }))));
      state.setOrderAttr(withoutMeshAxes(state.getOrderAttr(), mesh));
    }
  }
};
} // namespace
