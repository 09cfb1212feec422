//===- ShardingPlan.cpp - a sharding that is kept -------------------------===//

#include "passes/sharding/search/ShardingPlan.h"
#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "passes/sharding/search/ShardingSearch.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string tessera::textOf(const PlannedAxes &axes) {
  std::string text;
  for (const PlannedAxis &axis : axes)
    text += (text.empty() ? "" : ", ") + axis.axis + ": " + std::to_string(axis.size) +
            (axis.along.empty() ? "" : " = " + axis.along);
  return text;
}

std::optional<PlannedAxes> tessera::parsePlannedAxes(StringRef text) {
  PlannedAxes axes;
  if (text.empty()) return axes;
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [name, rest] = part.split(':');
    auto [size, along] = rest.split('=');
    PlannedAxis axis{name.trim().str(), 0, along.trim().str()};
    bool isWrong = axis.axis.empty() || size.trim().getAsInteger(10, axis.size) || axis.size < 1 ||
                   (rest.contains('=') && axis.along.empty());
    if (isWrong) return std::nullopt;
    axes.push_back(std::move(axis));
  }
  return axes;
}

/// The name of an op without the number of those with the same name.
static StringRef withoutNumber(StringRef name) {
  auto [before, number] = name.rsplit(" #");
  return llvm::all_of(number, llvm::isDigit) ? before : name;
}

StringRef PlannedEntry::kind() const {
  StringRef own = withoutNumber(name);
  return own.contains(' ') ? own.rsplit(' ').second : own;
}

StringRef PlannedEntry::place() const {
  StringRef own = withoutNumber(name);
  return own.contains(' ') ? own.rsplit(' ').first : StringRef();
}

bool PlannedEntry::hasSameAxes(const PlannedEntry &other) const {
  auto areSame = [](const PlannedAxis &a, const PlannedAxis &b) { return a.axis == b.axis && a.size == b.size; };
  return llvm::equal(axes, other.axes,
                     [&](const PlannedAxes &a, const PlannedAxes &b) { return llvm::equal(a, b, areSame); });
}

//===----------------------------------------------------------------------===//
// The contents of a module
//===----------------------------------------------------------------------===//

static PlannedAxes planned(ArrayRef<AxisAttr> axes, const Sharding &sharding) {
  PlannedAxes list;
  for (AxisAttr axis : axes)
    list.push_back({axis.getName().str(), axis.getSize(), sharding.meshAxis(axis.getName()).str()});
  return list;
}

/// Those that a plan says something of, in order. What is in a composite follows it, and sources are computed whole.
static SmallVector<Operation *> plannedOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isPart = !isa<func::FuncOp, RepeatOp>(op->getParentOp());
    if (op == function || isPart || op->getNumResults() == 0 || isSourceless(op)) return;
    if (isa<RepeatOp>(op) || !spaceOf(op).empty()) ops.push_back(op);
  });
  return ops;
}

/// The tensors of a repeat whose shardings it says.
static SmallVector<NamedTensorType> tensorsOf(RepeatOp repeat) {
  SmallVector<NamedTensorType> types;
  for (Value operand : repeat.getOperands()) types.push_back(tensorType(operand));
  for (Value result : repeat.getStackedResults()) types.push_back(tensorType(result));
  return types;
}

static std::vector<PlannedAxes> axesOf(Operation *op) {
  auto repeat = dyn_cast<RepeatOp>(op);
  if (!repeat) return {planned(spaceOf(op), Sharding::of(op))};
  std::vector<PlannedAxes> list;
  auto shardings = repeat->getAttrOfType<ArrayAttr>(attrs::sharding);
  for (auto [i, type] : llvm::enumerate(tensorsOf(repeat)))
    list.push_back(planned(type.getAxes(), shardings ? Sharding(cast<DictionaryAttr>(shardings[i])) : Sharding()));
  return list;
}

static void addOps(func::FuncOp function, std::vector<PlannedEntry> &entries) {
  llvm::StringMap<int> counts;
  for (Operation *op : plannedOps(function)) {
    std::string place = userLine(op->getLoc()), kind = op->getName().stripDialect().str();
    std::string name = place.empty() ? kind : place + " " + kind;
    if (int number = ++counts[name]; number > 1) name += " #" + std::to_string(number);
    entries.push_back({name, axesOf(op)});
  }
}

/// The inputs of a function that are no states, with their numbers.
static SmallVector<std::pair<unsigned, std::string>> inputsOf(func::FuncOp function) {
  SmallVector<std::pair<unsigned, std::string>> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (!argumentState(function, i).empty()) continue;
    auto input = function.getArgAttrOfType<DictionaryAttr>(i, attrs::input);
    auto name = input ? input.getAs<StringAttr>("name") : StringAttr();
    inputs.emplace_back(i, name ? name.str() : "input " + std::to_string(i));
  }
  return inputs;
}

ShardingPlan ShardingPlan::of(ModuleOp module) {
  ShardingPlan plan;
  ProgramMesh mesh = ProgramMesh::of(module);
  for (AxisAttr axis : mesh.getAxes()) plan.mesh.emplace_back(axis.getName().str(), axis.getSize());
  if (auto found = module->getAttrOfType<DictionaryAttr>(attrs::foundSharding)) {
    auto amount = [&](StringRef name) { return found.getAs<FloatAttr>(name); };
    plan.seconds = amount("seconds").getValueAsDouble(), plan.bound = amount("bound").getValueAsDouble();
    plan.bytes = amount("bytes").getValueAsDouble();
    if (FloatAttr memory = amount("memory")) plan.memory = memory.getValueAsDouble();
  }
  for (StateOp state : stateTable(module))
    plan.states.push_back({state.getPath().str(), {planned(state.getTensorType().getAxes(), Sharding::of(state))}});
  func::FuncOp function = decidingFunction(module);
  if (!function) return plan;
  for (auto &[i, name] : inputsOf(function)) {
    Sharding sharding(function.getArgAttrOfType<DictionaryAttr>(i, attrs::sharding));
    plan.inputs.push_back({name, {planned(tensorType(function.getArgument(i)).getAxes(), sharding)}});
  }
  addOps(function, plan.ops);
  return plan;
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

DictionaryAttr ShardingPlan::figures(MLIRContext *context) const {
  Builder b(context);
  auto number = [&](StringRef name, double value) { return b.getNamedAttr(name, b.getF64FloatAttr(value)); };
  SmallVector<NamedAttribute> found{number("seconds", seconds), number("bound", bound), number("bytes", bytes)};
  if (memory) found.push_back(number("memory", *memory));
  return b.getDictionaryAttr(found);
}

void ShardingPlan::record(ModuleOp module) const {
  Builder b(module.getContext());
  SmallVector<Attribute> axes;
  for (const auto &[name, size] : mesh) axes.push_back(tessera::axis(module.getContext(), name, size));
  auto list = [&](const std::vector<PlannedEntry> &entries) {
    SmallVector<Attribute> texts;
    for (const PlannedEntry &entry : entries) {
      SmallVector<Attribute> words{b.getStringAttr(entry.name)};
      for (const PlannedAxes &own : entry.axes) words.push_back(b.getStringAttr(textOf(own)));
      texts.push_back(b.getArrayAttr(words));
    }
    return b.getArrayAttr(texts);
  };
  module->setAttr(planAttr, b.getDictionaryAttr(
                                {b.getNamedAttr("found", figures(module.getContext())),
                                 b.getNamedAttr("mesh", b.getArrayAttr(axes)), b.getNamedAttr("states", list(states)),
                                 b.getNamedAttr("inputs", list(inputs)), b.getNamedAttr("ops", list(ops))}));
}

/// The entries of a list of the attribute; false if it is malformed.
static bool readEntries(DictionaryAttr plan, StringRef key, std::vector<PlannedEntry> &entries) {
  auto list = plan.getAs<ArrayAttr>(key);
  if (!list) return false;
  for (Attribute element : list) {
    auto words = dyn_cast<ArrayAttr>(element);
    if (!words || words.empty() || !llvm::all_of(words, llvm::IsaPred<StringAttr>)) return false;
    auto text = [&](size_t i) { return cast<StringAttr>(words[i]).getValue(); };
    PlannedEntry &entry = entries.emplace_back(PlannedEntry{text(0).str(), {}});
    for (size_t i = 1; i < words.size(); ++i) {
      std::optional<PlannedAxes> axes = parsePlannedAxes(text(i));
      if (!axes) return false;
      entry.axes.push_back(std::move(*axes));
    }
  }
  return true;
}

std::optional<ShardingPlan> ShardingPlan::recordedIn(ModuleOp module, std::string &problem) {
  problem = "`tsr.plan` is malformed";
  auto attribute = module->getAttrOfType<DictionaryAttr>(planAttr);
  auto found = attribute ? attribute.getAs<DictionaryAttr>("found") : DictionaryAttr();
  auto mesh = attribute ? attribute.getAs<ArrayAttr>("mesh") : ArrayAttr();
  if (!found || !mesh || !llvm::all_of(mesh, llvm::IsaPred<AxisAttr>)) return std::nullopt;
  ShardingPlan plan;
  for (auto [name, amount] : {std::pair("seconds", &plan.seconds), {"bound", &plan.bound}, {"bytes", &plan.bytes}}) {
    auto number = found.getAs<FloatAttr>(name);
    if (!number) return std::nullopt;
    *amount = number.getValueAsDouble();
  }
  if (auto memory = found.getAs<FloatAttr>("memory")) plan.memory = memory.getValueAsDouble();
  for (Attribute axis : mesh)
    plan.mesh.emplace_back(cast<AxisAttr>(axis).getName().str(), cast<AxisAttr>(axis).getSize());
  if (!readEntries(attribute, "states", plan.states) || !readEntries(attribute, "inputs", plan.inputs) ||
      !readEntries(attribute, "ops", plan.ops))
    return std::nullopt;
  problem.clear();
  return plan;
}

//===----------------------------------------------------------------------===//
// As shardings
//===----------------------------------------------------------------------===//

static Sharding shardingOf(const PlannedAxes &axes, MLIRContext *context) {
  auto kept = [&](const std::string &text) { return StringAttr::get(context, text).getValue(); };
  Sharding sharding;
  for (const PlannedAxis &axis : axes)
    if (!axis.along.empty()) sharding.divide(kept(axis.axis), kept(axis.along));
  return sharding;
}

std::string ShardingPlan::whatChanged(ModuleOp module) const { return describeChanges(*this, of(module)); }

llvm::StringMap<Sharding> ShardingPlan::shardingsOfStates(MLIRContext *context) const {
  llvm::StringMap<Sharding> shardings;
  for (const PlannedEntry &state : states) shardings[state.name] = shardingOf(state.axes.front(), context);
  return shardings;
}

ShardingTable ShardingPlan::tableOf(func::FuncOp function) const {
  MLIRContext *context = function.getContext();
  ShardingTable table;
  for (auto [op, entry] : llvm::zip_equal(plannedOps(function), ops)) {
    if (!isa<RepeatOp>(op)) {
      table.ofOps[op] = shardingOf(entry.axes.front(), context);
      continue;
    }
    for (const PlannedAxes &axes : entry.axes) table.ofRepeats[op].push_back(shardingOf(axes, context));
  }
  llvm::StringMap<Sharding> ofStates = shardingsOfStates(context);
  for (const auto &[i, name] : inputsOf(function)) {
    auto entry = llvm::find_if(inputs, [&](const PlannedEntry &input) { return input.name == name; });
    table.ofValues[function.getArgument(i)] = shardingOf(entry->axes.front(), context);
  }
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (StringRef state = argumentState(function, i); !state.empty())
      table.ofValues[function.getArgument(i)] = ofStates.lookup(state);
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    StringRef state = resultState(function, i);
    table.ofResults.push_back(state.empty() ? Sharding() : ofStates.lookup(state));
  }
  return table;
}
