//===- Sharding.cpp - which mesh axis an axis is divided along ------------===//

#include "passes/sharding/Sharding.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

Sharding::Sharding(DictionaryAttr attribute) {
  if (!attribute) return;
  for (NamedAttribute part : attribute)
    parts.push_back({part.getName().getValue(), cast<StringAttr>(part.getValue()).getValue()});
}

Sharding Sharding::of(Operation *op) { return Sharding(op->getAttrOfType<DictionaryAttr>(attrs::sharding)); }

StringRef Sharding::meshAxis(StringRef axis) const {
  auto found = llvm::find_if(parts, [&](const Part &part) { return part.axis == axis; });
  return found == parts.end() ? StringRef() : found->mesh;
}

StringRef Sharding::axisAlong(StringRef mesh) const {
  auto found = llvm::find_if(parts, [&](const Part &part) { return part.mesh == mesh; });
  return found == parts.end() ? StringRef() : found->axis;
}

void Sharding::divide(StringRef axis, StringRef mesh) {
  makeWhole(axis);
  parts.insert(llvm::find_if(parts, [&](const Part &part) { return part.axis > axis; }), {axis, mesh});
}

void Sharding::makeWhole(StringRef axis) {
  llvm::erase_if(parts, [&](const Part &part) { return part.axis == axis; });
}

Sharding Sharding::within(NamedTensorType type) const {
  Sharding result = *this;
  llvm::erase_if(result.parts, [&](const Part &part) { return !type.hasAxis(part.axis); });
  return result;
}

Sharding Sharding::unitedWith(const Sharding &other) const {
  Sharding result = *this;
  for (const Part &part : other.parts)
    if (result.meshAxis(part.axis).empty() && !result.uses(part.mesh)) result.divide(part.axis, part.mesh);
  return result;
}

DictionaryAttr Sharding::getAttribute(MLIRContext *context) const {
  Builder builder(context);
  return builder.getDictionaryAttr(llvm::map_to_vector(
      parts, [&](const Part &part) { return builder.getNamedAttr(part.axis, builder.getStringAttr(part.mesh)); }));
}

int64_t tessera::partSize(int64_t size, int64_t parts) { return llvm::divideCeil(size, parts); }

NamedTensorType tessera::wideType(NamedTensorType whole, const Sharding &sharding, const ProgramMesh &mesh,
                                  ModuleOp module) {
  SmallVector<AxisAttr> axes;
  MLIRContext *context = module.getContext();
  for (AxisAttr axis : whole.getAxes()) {
    StringRef along = sharding.meshAxis(axis.getName());
    if (along.empty()) {
      axes.push_back(axis);
      continue;
    }
    axes.push_back(tessera::axis(context, along, mesh.size(along)));
    axes.push_back(tessera::axis(context, axis.getName(), partSize(axis.getSize(), mesh.size(along))));
  }
  AxisOrder(module).sort(axes);
  return whole.withAxes(axes);
}

DictionaryAttr tessera::dividedAxes(NamedTensorType whole, const Sharding &sharding, Blocks blocks) {
  Builder b(whole.getContext());
  auto entry = [&](StringRef key, Attribute value) { return b.getNamedAttr(key, value); };
  return b.getDictionaryAttr(llvm::map_to_vector(sharding.getParts(), [&](const Sharding::Part &part) {
    SmallVector<NamedAttribute> entries{entry("along", b.getStringAttr(part.mesh)),
                                        entry("whole", b.getI64IntegerAttr(whole.getSize(part.axis)))};
    if (blocks.axis == part.axis) entries.push_back(entry("blocks", b.getI64IntegerAttr(blocks.count)));
    return entry(part.axis, b.getDictionaryAttr(entries));
  }));
}

//===----------------------------------------------------------------------===//
// Inputs in blocks
//===----------------------------------------------------------------------===//

/// The split that a value is read by, casts aside: all its readers are equal ones. Null if there is none.
static SplitOp onlySplitOf(Value value) {
  SplitOp found;
  for (Operation *user : value.getUsers()) {
    auto cast = dyn_cast<CastOp>(user);
    SplitOp split = cast ? onlySplitOf(cast.getResult()) : dyn_cast<SplitOp>(user);
    if (!split) return {};
    bool isEqual = !found || (found.getAxis() == split.getAxis() && found.getInto() == split.getInto() &&
                              tensorType(found.getResult()).getAxes() == tensorType(split.getResult()).getAxes());
    if (!isEqual) return {};
    found = split;
  }
  return found;
}

bool tessera::makesBlocks(SplitOp split) {
  SmallVector<StringRef> into = names(split.getInto());
  if (into.size() != 2 || into.back() != split.getAxis()) return false;
  Value input = split.getX();
  while (auto cast = input.getDefiningOp<CastOp>()) input = cast.getX();
  auto argument = dyn_cast<BlockArgument>(input);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto tag =
      function ? function.getArgAttrOfType<DictionaryAttr>(argument.getArgNumber(), attrs::input) : DictionaryAttr();
  auto role = tag ? tag.getAs<StringAttr>("role") : StringAttr();
  return role && role.getValue() == "data" && onlySplitOf(argument);
}

SplitOp tessera::splitIntoBlocks(BlockArgument input) {
  SplitOp split = onlySplitOf(input);
  return split && makesBlocks(split) ? split : SplitOp();
}

Blocks tessera::blocksOf(BlockArgument argument) {
  SplitOp split = splitIntoBlocks(argument);
  if (!split || Sharding::of(split).meshAxis(split.getAxis()).empty()) return {};
  return {split.getAxis(), tensorType(split.getResult()).getSize(names(split.getInto()).front())};
}

//===----------------------------------------------------------------------===//
// Rules of ops
//===----------------------------------------------------------------------===//

/// Whether the op names axes of its result that its operand has under other names.
static bool renamesAxes(Operation *op) { return isa<RenameOp, SplitOp, MergeOp>(op); }

SmallVector<AxisAttr> tessera::spaceOf(Operation *op) {
  llvm::SetVector<AxisAttr> axes;
  llvm::StringSet<> known; // a slice and its operand have an axis in two sizes
  auto add = [&](Value value) {
    for (AxisAttr axis : tensorType(value).getAxes())
      if (known.insert(axis.getName()).second) axes.insert(axis);
  };
  for (Value result : op->getResults()) add(result);
  if (!renamesAxes(op))
    for (Value operand : op->getOperands()) add(operand);
  return axes.takeVector();
}

llvm::StringSet<> tessera::repeatedAxes(Operation *op) {
  llvm::StringSet<> axes;
  op->walk([&](RepeatOp repeat) { axes.insert(repeat.getAxis().getName()); });
  return axes;
}

llvm::SetVector<StringRef> tessera::axisNamesOf(func::FuncOp function) {
  llvm::SetVector<StringRef> names;
  auto note = [&](Type type) {
    if (auto tensor = dyn_cast<NamedTensorType>(type))
      for (AxisAttr axis : tensor.getAxes()) names.insert(axis.getName());
  };
  llvm::for_each(function.getArgumentTypes(), note);
  function.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), note);
    if (auto repeat = dyn_cast<RepeatOp>(op)) llvm::for_each(repeat.getBlock().getArgumentTypes(), note);
  });
  return names;
}

size_t tessera::mostAxisNames(ModuleOp module) {
  size_t most = 0;
  for (func::FuncOp function : entryFunctions(module)) most = std::max(most, axisNamesOf(function).size());
  return most;
}

bool tessera::canDivide(Operation *op, StringRef axis, int64_t parts) {
  auto sizeIn = [&](Value value, StringRef name) { return tensorType(value).getSize(name); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<SliceOp, PadOp>([&](auto moved) { return moved.getAxis() != axis; })
      .Case<RenameOp>([](auto) { return true; })
      .Case<SplitOp>([&](SplitOp split) {
        SmallVector<StringRef> into = names(split.getInto());
        if (!llvm::is_contained(into, axis)) return true;
        return sizeIn(split.getResult(), axis) % parts == 0 &&
               (into.front() == axis || (into.back() == axis && makesBlocks(split)));
      })
      .Case<MergeOp>([&](MergeOp merge) {
        SmallVector<StringRef> from = names(merge.getAxes());
        return axis != merge.getInto() || sizeIn(merge.getX(), from.front()) % parts == 0;
      })
      .Case<GatherOp>([&](GatherOp gather) {
        bool isBool = gather.getType().getElementType().isInteger(1);
        return !isBool || !llvm::is_contained(names(gather.getAxes()), axis);
      })
      .Case<IndexOp, RandomOp, ScatterAddOp, SoftmaxOp, LayerNormOp, CrossEntropyOp, AttentionOp>(
          [](auto) { return true; })
      .Default([&](Operation *other) {
        auto divisible = dyn_cast<DivisibleOpInterface>(other);
        return divisible && divisible.getDivision(axis).kind != AxisDivision::Kind::None;
      });
}

bool tessera::mustDecompose(Operation *op, StringRef axis) {
  auto divisible = dyn_cast<DivisibleOpInterface>(op);
  return isa<DecomposeOpInterface>(op) && (!divisible || divisible.getDivision(axis).kind == AxisDivision::Kind::None);
}

Sharding tessera::operandSharding(OpOperand &operand, const Sharding &ofOp) {
  NamedTensorType type = tensorType(operand.get());
  Sharding result;
  auto rename = [&](StringRef from, StringRef to) {
    if (StringRef along = ofOp.meshAxis(to); !along.empty()) result.divide(from, along);
  };
  return llvm::TypeSwitch<Operation *, Sharding>(operand.getOwner())
      .Case<RenameOp>([&](RenameOp op) {
        SmallVector<StringRef> from = names(op.getFrom()), to = names(op.getTo());
        for (AxisAttr axis : type.getAxes()) {
          auto place = llvm::find(from, axis.getName());
          rename(axis.getName(), place == from.end() ? axis.getName() : to[place - from.begin()]);
        }
        return result;
      })
      .Case<SplitOp>([&](SplitOp op) {
        for (AxisAttr axis : type.getAxes()) {
          StringRef name = axis.getName();
          bool isInBlocks = name == op.getAxis() && !ofOp.meshAxis(name).empty();
          rename(name, name == op.getAxis() && !isInBlocks ? names(op.getInto()).front() : name);
        }
        return result;
      })
      .Case<MergeOp>([&](MergeOp op) {
        SmallVector<StringRef> from = names(op.getAxes());
        for (AxisAttr axis : type.getAxes()) {
          bool isMerged = llvm::is_contained(from, axis.getName());
          if (!isMerged) rename(axis.getName(), axis.getName());
          if (isMerged && axis.getName() == from.front()) rename(axis.getName(), op.getInto());
        }
        return result;
      })
      .Case<GatherOp, ScatterAddOp>([&](auto op) {
        // Positions along an axis of the result may be read or written at positions along one of that name: the
        // sharding is that of the result.
        result = ofOp.within(type);
        bool isWhole = isa<ScatterAddOp>(op) || operand.getOperandNumber() == 0;
        for (StringRef axis : names(op.getAxes()))
          if (isWhole && op.getResult().getType().hasAxis(axis)) result.makeWhole(axis);
        return result;
      })
      .Default([&](Operation *) { return ofOp.within(type); });
}

//===----------------------------------------------------------------------===//
// What was edited by hand
//===----------------------------------------------------------------------===//

/// `whole`: the type of the value; null for an op.
static LogicalResult verifySharding(Operation *op, Attribute attribute, const ProgramMesh &mesh,
                                    NamedTensorType whole = {}) {
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(attribute);
  if (!dictionary) return op->emitError("expected `tsr.sharding` to be a dictionary, got ") << attribute;
  llvm::StringSet<> used;
  for (NamedAttribute part : dictionary) {
    auto along = dyn_cast<StringAttr>(part.getValue());
    if (!along || !mesh.has(along.getValue()))
      return op->emitError("expected a mesh axis for `") << part.getName().getValue() << "`, got " << part.getValue();
    if (!used.insert(along.getValue()).second) return op->emitError("the mesh axis ") << along << " divides two axes";
    StringRef axis = part.getName().getValue();
    if (whole && !whole.hasAxis(axis))
      return op->emitError("`tsr.sharding` divides the axis `") << axis << "`, which " << whole << " lacks";
  }
  return success();
}

static LogicalResult verifyOp(Operation *op, const ProgramMesh &mesh) {
  Attribute attribute = op->getAttr(attrs::sharding);
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    auto list = dyn_cast_or_null<ArrayAttr>(attribute);
    if (!list || list.size() != repeat->getNumOperands() + repeat.getStackedResults().size())
      return op->emitError(
          "expected `tsr.sharding` to be a list with a dictionary for each operand and stacked result");
    SmallVector<Value> values(repeat->getOperands());
    llvm::append_range(values, repeat.getStackedResults());
    unsigned firstSlice = repeat.getCarried().size(), slices = repeat.getSliced().size();
    for (auto [i, entry] : llvm::enumerate(list)) {
      if (failed(verifySharding(op, entry, mesh, tensorType(values[i])))) return failure();
      bool isStack = (i >= firstSlice && i < firstSlice + slices) || i >= repeat->getNumOperands();
      StringRef axis = repeat.getAxis().getName();
      if (isStack && cast<DictionaryAttr>(entry).contains(axis))
        return op->emitError("cannot have stacks that are divided along its own axis, `") << axis << "`";
    }
    return success();
  }
  if (!attribute || isa<func::FuncOp>(op)) return success();
  auto state = dyn_cast<StateOp>(op);
  if (failed(verifySharding(op, attribute, mesh, state ? state.getTensorType() : NamedTensorType()))) return failure();
  if (state) return success();
  SmallVector<AxisAttr> space = spaceOf(op);
  Sharding sharding = Sharding::of(op);
  for (const Sharding::Part &part : sharding.getParts()) {
    bool isOfOp = llvm::any_of(space, [&](AxisAttr axis) { return axis.getName() == part.axis; });
    if (!isOfOp || !canDivide(op, part.axis, mesh.size(part.mesh)))
      return op->emitOpError("cannot be divided along `") << part.axis << "`";
  }
  return success();
}

static void addReaders(Value value, SmallVectorImpl<Operation *> &readers) {
  for (Operation *user : value.getUsers()) {
    readers.push_back(user);
    if (isa<CastOp>(user)) addReaders(user->getResult(0), readers);
  }
}

/// An error if what reads an input in blocks is not divided like the input.
static LogicalResult verifyBlocks(BlockArgument input, const Sharding &ofInput) {
  SplitOp split = splitIntoBlocks(input);
  if (!split) return success();
  StringRef axis = split.getAxis();
  SmallVector<Operation *> readers;
  addReaders(input, readers);
  auto areInBlocks = [&](Operation *op) { return isa<SplitOp>(op) && !Sharding::of(op).meshAxis(axis).empty(); };
  if (llvm::none_of(readers, areInBlocks)) return success();
  for (Operation *reader : readers) {
    Sharding own = Sharding::of(reader);
    auto other = dyn_cast<SplitOp>(reader);
    bool hasDividedBlocks = other && !own.meshAxis(names(other.getInto()).front()).empty();
    if (hasDividedBlocks || own.meshAxis(axis) != ofInput.meshAxis(axis))
      return reader->emitOpError("is not divided along `") << axis << "` like the input that is read in blocks";
  }
  return success();
}

/// An argument or a result that is a state has its sharding.
static LogicalResult verifyOfState(func::FuncOp function, Attribute attribute, StateOp state) {
  if (!state || attribute == state->getAttr(attrs::sharding)) return success();
  return function.emitError("has the state `")
         << state.getPath() << "` divided as " << attribute << ", and elsewhere it is divided as "
         << state->getAttr(attrs::sharding) << "; states that begin as one value are divided alike";
}

LogicalResult tessera::verifyShardings(func::FuncOp function, const ProgramMesh &mesh) {
  llvm::StringMap<StateOp> states = statesByPath(function->getParentOfType<ModuleOp>());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Attribute attribute = function.getArgAttr(i, attrs::sharding);
    if (failed(verifySharding(function, attribute, mesh, tensorType(function.getArgument(i)))) ||
        failed(verifyOfState(function, attribute, states.lookup(argumentState(function, i)))) ||
        failed(verifyBlocks(function.getArgument(i), Sharding(cast<DictionaryAttr>(attribute)))))
      return failure();
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    Attribute attribute = function.getResultAttr(i, attrs::sharding);
    auto type = cast<NamedTensorType>(function.getResultTypes()[i]);
    if (failed(verifySharding(function, attribute, mesh, type)) ||
        failed(verifyOfState(function, attribute, states.lookup(resultState(function, i)))))
      return failure();
  }
  WalkResult result = function.getBody().walk(
      [&](Operation *op) { return failed(verifyOp(op, mesh)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(result.wasInterrupted());
}

LogicalResult tessera::verifyStateShardings(ModuleOp module, const ProgramMesh &mesh) {
  bool isRight = llvm::all_of(stateTable(module), [&](StateOp state) { return succeeded(verifyOp(state, mesh)); });
  return success(isRight);
}

LogicalResult tessera::verifyNoSlicedState(ModuleOp module) {
  llvm::StringSet<> repeated = repeatedAxes(module);
  for (StateOp state : stateTable(module)) {
    const Sharding sharding = Sharding::of(state);
    for (const Sharding::Part &part : sharding.getParts())
      if (repeated.contains(part.axis))
        return state.emitError("the state `") << state.getPath() << "` cannot be divided along `" << part.axis
                                              << "`, along which it is read slice by slice";
  }
  return success();
}

LogicalResult tessera::verifyShardings(ModuleOp module, const ProgramMesh &mesh) {
  bool isRight = succeeded(verifyStateShardings(module, mesh));
  for (auto function : module.getOps<func::FuncOp>()) isRight = isRight && succeeded(verifyShardings(function, mesh));
  return success(isRight);
}

LogicalResult tessera::verifyWideForm(ModuleOp module, const ProgramMesh &mesh) {
  auto check = [&](Operation *op, Type type) -> LogicalResult {
    auto tensor = dyn_cast<NamedTensorType>(type);
    if (!tensor) return success();
    for (AxisAttr axis : tensor.getAxes())
      if (mesh.has(axis.getName()) && axis.getSize() != mesh.size(axis.getName()))
        return op->emitError("expected ") << mesh.size(axis.getName()) << " elements along the mesh axis `"
                                          << axis.getName() << "`, got " << tensor;
    return success();
  };
  WalkResult result = module.walk([&](Operation *op) {
    bool holds = llvm::all_of(op->getResultTypes(), [&](Type type) { return succeeded(check(op, type)); });
    if (auto state = dyn_cast<StateOp>(op)) holds = succeeded(check(op, state.getTensorType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        holds = holds && llvm::all_of(block.getArgumentTypes(), [&](Type type) { return succeeded(check(op, type)); });
    return holds ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult tessera::verifyDividedStates(ModuleOp module, const ProgramMesh &mesh) {
  if (mesh.getAxes().empty()) return success(); // shardings of states are hints then, for `shard`
  for (StateOp state : stateTable(module)) {
    Attribute own = state->getAttr(attrs::sharding);
    if (own && failed(verifySharding(state, own, mesh))) return failure();
    Sharding sharding = Sharding::of(state);
    auto divided = state->getAttrOfType<DictionaryAttr>(attrs::divided);
    bool isSaid = llvm::all_of(sharding.getParts(), [&](const Sharding::Part &part) {
      auto entry = divided ? divided.getAs<DictionaryAttr>(part.axis) : DictionaryAttr();
      auto along = entry ? entry.getAs<StringAttr>("along") : StringAttr();
      return along && along.getValue() == part.mesh;
    });
    if (!isSaid)
      return state.emitError("is divided as `tsr.sharding` says, but `") << attrs::divided << "` does not say so";
  }
  return success();
}
