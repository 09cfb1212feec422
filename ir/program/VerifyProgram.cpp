//===- VerifyProgram.cpp - what every phase relies on ---------------------===//

#include "ir/program/VerifyProgram.h"
#include "ir/program/Machines.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/RecordForm.h"
#include "ir/program/ShardSettings.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tessera;

static bool isListOfNames(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [](Attribute name) { return isa<StringAttr>(name); });
}

static bool isListOfDictionaries(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [](Attribute entry) { return isa<DictionaryAttr>(entry); });
}

static constexpr int64_t mostRanks = 1 << 20;

static bool isListOfAxes(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [](Attribute entry) { return isa<AxisAttr>(entry); });
}

/// Axes with different names, and no more ranks than can be numbered.
static bool isMesh(Attribute attribute) {
  if (!isListOfAxes(attribute)) return false;
  llvm::StringSet<> known;
  int64_t ranks = 1;
  return llvm::all_of(cast<ArrayAttr>(attribute).getAsRange<AxisAttr>(), [&](AxisAttr axis) {
    bool isSize = axis.getSize() >= 1 && axis.getSize() <= mostRanks / ranks;
    if (isSize) ranks *= axis.getSize();
    return isSize && known.insert(axis.getName()).second;
  });
}

/// Of ranks, and of the leaves that they divide.
static bool isCount(Attribute attribute) {
  auto count = dyn_cast<IntegerAttr>(attribute);
  return count && count.getType().isSignlessInteger(64) && count.getInt() >= 1 && count.getInt() <= mostRanks;
}

static bool isDictionaryOfNames(Attribute attribute) {
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  return dictionary && llvm::all_of(dictionary, [](NamedAttribute entry) { return isa<StringAttr>(entry.getValue()); });
}

static bool isListOfDictionariesOfNames(Attribute attribute) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, isDictionaryOfNames);
}

/// A dictionary whose `order` and `reads`, if it has them, are lists of names.
static bool isTag(Attribute attribute) {
  auto tag = dyn_cast<DictionaryAttr>(attribute);
  return tag && llvm::all_of(ArrayRef{"order", "reads"},
                             [&](StringRef key) { return !tag.get(key) || isListOfNames(tag.get(key)); });
}

static bool isZeroLevel(Attribute attribute) {
  auto level = dyn_cast<IntegerAttr>(attribute);
  return level && level.getInt() >= 0 && level.getInt() <= 3;
}

static bool isLibrary(Attribute attribute) {
  auto word = dyn_cast<StringAttr>(attribute);
  return word && word.getValue() == ShardSettings::libraryReductions;
}

static bool isRematMode(Attribute attribute) {
  auto word = dyn_cast<StringAttr>(attribute);
  return word && parseRematMode(word.getValue());
}

template <typename AttrT> static bool is(Attribute attribute) { return isa<AttrT>(attribute); }

static bool isFrontier(Attribute attribute) {
  return isListOfRecords(attribute, {{"arena", isSize},
                                     {"live", isSize},
                                     {"seconds", isFinite},
                                     {"what", is<StringAttr>},
                                     {"chosen", is<UnitAttr>, true}});
}

static bool isAlternative(Attribute attribute) {
  return isRecord(attribute, {{"seconds", isFinite}, {"bytes", isDifference}});
}

static bool isListOfLayerValues(Attribute attribute) {
  return isListOfRecords(attribute, {{"name", is<StringAttr>},
                                     {"path", is<StringAttr>, true},
                                     {"axis", is<StringAttr>},
                                     {"layers", isSize},
                                     {"saved", isSize},
                                     {"recomputed", isSize},
                                     {"bytes", isSize},
                                     {"alternative", isAlternative, true}});
}

static bool isRecomputation(Attribute attribute) {
  return isRecord(attribute, {{"seconds", isFinite}, {"bound", isFinite}, {"step", isFinite}});
}

static bool isFoundSharding(Attribute attribute) {
  return isRecord(attribute,
                  {{"seconds", isFinite}, {"bound", isFinite}, {"bytes", isFinite}, {"memory", isFinite, true}},
                  /*others=*/true);
}

namespace {
struct AttributeForm {
  StringRef name;
  bool (*holds)(Attribute);
  StringRef expected;
};
} // namespace

static constexpr AttributeForm ofModules[] = {
    {attrs::axes, isListOfNames, "a list of names"},
    {attrs::model, is<StringAttr>, "a string"},
    {attrs::phase, is<StringAttr>, "a string"},
    {attrs::target, is<StringAttr>, "a string"},
    {attrs::data, isListOfDictionaries, "a list of dictionaries"},
    {attrs::settings, is<DictionaryAttr>, "a dictionary"},
    {attrs::epilogues, is<StringAttr>, "a string"},
    {attrs::mesh, isMesh, "a list of axes with different names, of at most 2^20 ranks,"},
    {attrs::machines, Machines::isRecorded, "a dictionary of `count` and `devices`, from 1 to 2^20"},
    {attrs::shard, isDictionaryOfNames, "a dictionary of names"},
    {attrs::shardStates, isListOfDictionariesOfNames, "a list of dictionaries of names"},
    {attrs::zero, isZeroLevel, "0, 1, 2 or 3"},
    {attrs::leaves, isCount, "a number from 1 to 2^20"},
    {attrs::devices, isCount, "a number from 1 to 2^20"},
    {attrs::reductions, isLibrary, "\"library\""},
    {attrs::memory, MemorySettings::isRecorded, "a dictionary of sizes, `budget`, `arena` and `exchanges`, and `wish`"},
    {attrs::remat, isRematMode, "a word such as \"auto\" or \"layer\""},
    {attrs::save, isListOfNames, "a list of names"},
    {attrs::recompute, isListOfNames, "a list of names"},
    {attrs::frontier, isFrontier, "a list of plans with `arena`, `live`, `seconds` and `what`"},
    {attrs::layerValues, isListOfLayerValues,
     "a list of values with `name`, `axis`, `layers`, `saved`, `recomputed` and `bytes`"},
    {attrs::recomputation, isRecomputation, "a dictionary of seconds: `seconds`, `bound` and `step`"},
    {attrs::foundSharding, isFoundSharding, "a dictionary with the numbers `seconds`, `bound` and `bytes`"},
    {attrs::searchMemory, isDifference, "a number of bytes"},
    {attrs::arena, isSize, "a size of at most 2^56 bytes"},
    {attrs::arenaBound, isSize, "a size of at most 2^56 bytes"},
    {attrs::arenaLacking, isSize, "a size of at most 2^56 bytes"},
};

static constexpr AttributeForm ofValues[] = {
    {attrs::state, is<FlatSymbolRefAttr>, "the name of a state"},
    {attrs::input, isTag, "a dictionary, with `order` and `reads` lists of names"},
    {attrs::output, isTag, "a dictionary, with `order` and `reads` lists of names"},
    {attrs::place, is<PlaceAttr>, "a place"},
    {attrs::sharding, isDictionaryOfNames, "a dictionary of names"},
};

static LogicalResult verifyForms(Operation *op, DictionaryAttr attributes, ArrayRef<AttributeForm> forms) {
  for (const AttributeForm &form : forms)
    if (Attribute found = attributes.get(form.name); found && !form.holds(found))
      return op->emitError("expected ") << form.expected << " for `" << form.name << "`, got " << found;
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Of an argument or a result. 3. and 4.
static LogicalResult verifyValue(func::FuncOp function, Type type, DictionaryAttr attributes,
                                 const llvm::StringMap<StateOp> &states) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  if (!tensor) return function.emitError("expected named tensors as arguments and results, got ") << type;
  if (failed(verifyForms(function, attributes, ofValues))) return failure();
  auto path = attributes.getAs<FlatSymbolRefAttr>(attrs::state);
  if (!path) return success();
  auto state = states.find(path.getValue());
  if (state == states.end())
    return function.emitError("expected `") << path.getValue() << "` in the state table, which lacks it";
  auto axesOf = [](NamedTensorType type) {
    SmallVector<AxisAttr> axes(type.getAxes());
    llvm::sort(axes, [](AxisAttr a, AxisAttr b) { return a.getName() < b.getName(); });
    return axes;
  };
  NamedTensorType expected = StateOp(state->second).getTensorType();
  if (axesOf(expected) == axesOf(tensor)) return success();
  return function.emitError("expected `")
         << path.getValue() << "` to have the axes of its state, " << expected << ", got " << tensor;
}

/// 5.
static LogicalResult verifySizes(Operation *op, TypeRange types) {
  for (Type type : types) {
    auto tensor = cast<NamedTensorType>(type);
    int64_t bytes = tensor.getElementBytes();
    for (int64_t size : tensor.getAllocatedSizes())
      if (llvm::MulOverflow(bytes, size, bytes) || bytes > mostBytes)
        return op->emitError("has a tensor of more than 2^56 bytes: ") << type;
  }
  return success();
}

/// An op in a function, and the arguments of its regions.
static LogicalResult verifyInside(Operation *op) {
  if (!isa<func::ReturnOp>(op) && !isa_and_nonnull<TsrDialect>(op->getDialect()))
    return op->emitError("expected ops of the tsr dialect in a function, got `") << op->getName() << "`";
  auto isTensor = [](Type type) { return isa<NamedTensorType>(type); };
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      if (!llvm::all_of(block.getArgumentTypes(), isTensor))
        return op->emitError("expected named tensors as arguments of a region");
      if (failed(verifySizes(op, block.getArgumentTypes()))) return failure();
    }
  return verifySizes(op, op->getResultTypes());
}

static LogicalResult verifyFunction(func::FuncOp function, const llvm::StringMap<StateOp> &states) {
  if (!function.getBody().hasOneBlock()) return function.emitError("expected a function with one block");
  auto attributesOf = [&](DictionaryAttr attributes) {
    return attributes ? attributes : DictionaryAttr::get(function.getContext());
  };
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(verifyValue(function, type, attributesOf(function.getArgAttrDict(i)), states))) return failure();
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(verifyValue(function, type, attributesOf(function.getResultAttrDict(i)), states))) return failure();
  if (failed(verifySizes(function, function.getArgumentTypes()))) return failure();
  WalkResult walk = function.getBody().walk(
      [](Operation *op) { return failed(verifyInside(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
  return failure(walk.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// 6.
static LogicalResult verifyArena(ModuleOp module) {
  auto arena = module->getAttrOfType<IntegerAttr>(attrs::arena);
  auto bound = module->getAttrOfType<IntegerAttr>(attrs::arenaBound);
  if (!bound || (arena && bound.getInt() <= arena.getInt())) return success();
  return module.emitError("expected `") << attrs::arenaBound << "` to be at most `" << attrs::arena << "`";
}

LogicalResult tessera::verifyProgram(ModuleOp module) {
  if (failed(verifyForms(module, module->getDiscardableAttrDictionary(), ofModules))) return failure(); // 3.
  if (failed(verifyArena(module))) return failure();                                                    // 6.
  llvm::StringMap<StateOp> states;
  for (StateOp state : module.getOps<StateOp>()) {                           // 1.
    if (failed(verifySizes(state, state.getTensorType()))) return failure(); // 5.
    auto [other, isNew] = states.try_emplace(state.getPath(), state);
    if (isNew) continue;
    InFlightDiagnostic error = state.emitError("the state `") << state.getPath() << "` is declared twice";
    error.attachNote(other->second.getLoc()) << "the first one";
    return failure();
  }
  for (Operation &op : *module.getBody()) {
    if (isa<StateOp>(op)) continue;
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function) return op.emitError("expected functions and states in a module, got `") << op.getName() << "`";
    if (failed(verifyFunction(function, states))) return failure(); // 2. to 5.
  }
  return success();
}
