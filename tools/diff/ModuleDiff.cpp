//===- ModuleDiff.cpp - what differs between two modules ------------------===//
//
// Ops of an entry function are matched in four rounds, each in the order of the text:
//
//   1. ops that are the same: user's name, kind, nest of regions, types, attributes, and the producers of the operands
//      by name and kind;
//   2. ops with one name, kind and nest: they have changed;
//   3. ops with one name and kind: they have moved to another nest;
//   4. ops of one kind, types and attributes: they have moved under another name, or into or out of a kernel.
//
// Rounds 2 and 3 leave out ops without a name of their own: nothing tells which of a hundred unnamed multiplications
// became which other one.
//
//===----------------------------------------------------------------------===//

#include "tools/diff/ModuleDiff.h"
#include "ir/dialect/Assembly.h"
#include "ir/program/Program.h"
#include "mlir/IR/OperationSupport.h"
#include "tools/diff/Match.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace mlir;
using namespace tessera;

namespace {
/// Something that has a name in both modules, such as a state or an argument, and what is said of it.
using Facts = llvm::MapVector<StringRef, std::string>;

/// An op as the comparison sees it.
struct OpEntry {
  std::string name;  ///< the user's, or that of the nearest op around it that has one; else empty
  bool isNamed;      ///< the op itself has the name
  std::string kind;  ///< such as `tsr.mul` or `tsr.constant 0.5`
  std::string nest;  ///< the ops around it within the function
  std::string types; ///< of operands and results
  std::map<std::string, std::string> attributes; ///< without the name
  std::string operands;                          ///< what makes them
  OpEntry *partner = nullptr;

  std::string identity() const { return name + '\n' + kind; }
  std::string shape() const {
    std::string text = kind + '\n' + types;
    for (auto &[name, value] : attributes) text += '\n' + name + '=' + value;
    return text;
  }
  std::string everything() const {
    return llvm::join_items('\n', name, nest, shape(), operands, isNamed ? "named" : "");
  }
  /// Nothing but the nest or the name differs.
  bool isMoved() const {
    return partner && shape() == partner->shape() && (nest != partner->nest || name != partner->name);
  }
};
} // namespace

template <typename T> static std::string textOf(T &&value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// `[batch: 8, seq: 64] f32`
static std::string typeText(Type type) {
  auto tensor = dyn_cast<NamedTensorType>(type);
  if (!tensor) return textOf(type);
  std::string text = "[";
  llvm::raw_string_ostream out(text);
  llvm::interleaveComma(tensor.getAxes(), out, [&](AxisAttr axis) { out << axis.getName() << ": " << axis.getSize(); });
  out << "] " << tensor.getElementType();
  return text;
}

/// `3 added, 1 removed, 2 changed`; parts that are zero are left out.
static std::string counts(ArrayRef<std::pair<size_t, StringRef>> parts) {
  SmallVector<std::string> texts;
  for (auto [count, what] : parts)
    if (count > 0) texts.push_back((llvm::Twine(count) + " " + what).str());
  return llvm::join(texts, ", ");
}

/// Compares what has names on both sides. `title` is the heading of the section.
static bool printFacts(StringRef title, const Facts &before, const Facts &after, raw_ostream &out) {
  std::string lines;
  llvm::raw_string_ostream body(lines);
  size_t added = 0, removed = 0, changed = 0;
  for (auto &[name, text] : before)
    if (!after.contains(name)) body << "  - " << name << ": " << text << "\n", ++removed;
  for (auto &[name, text] : after) {
    auto old = before.find(name);
    if (old == before.end())
      body << "  + " << name << ": " << text << "\n", ++added;
    else if (old->second != text)
      body << "  ~ " << name << ": " << old->second << " => " << text << "\n", ++changed;
  }
  if (lines.empty()) return false;
  out << title << ": " << counts({{added, "added"}, {removed, "removed"}, {changed, "changed"}}) << "\n" << lines;
  return true;
}

//===----------------------------------------------------------------------===//
// The module and signatures
//===----------------------------------------------------------------------===//

static Facts moduleFacts(ModuleOp module) {
  Facts facts;
  for (NamedAttribute attribute : module->getAttrs())
    if (attribute.getName() != attrs::phase) facts[attribute.getName().getValue()] = textOf(attribute.getValue());
  return facts;
}

static Facts stateFacts(ModuleOp module) {
  Facts facts;
  for (StateOp state : stateTable(module)) {
    std::string text = state.getKind().str() + " " + typeText(state.getTensorType());
    if (ArrayAttr order = state.getOrderAttr()) text += " order " + textOf(order);
    if (PlaceAttr place = state.getPlaceAttr()) text += " at " + textOf(place);
    facts[state.getPath()] = text;
  }
  return facts;
}

/// What an argument or result is called: its state's path, or the name of the input or output.
static StringRef valueName(DictionaryAttr attributes, MLIRContext *context, size_t number) {
  if (attributes) {
    if (auto state = attributes.getAs<FlatSymbolRefAttr>(attrs::state)) return state.getValue();
    for (StringRef tag : {attrs::input, attrs::output})
      if (auto dictionary = attributes.getAs<DictionaryAttr>(tag))
        if (auto name = dictionary.getAs<StringAttr>("name")) return name.getValue();
  }
  return StringAttr::get(context, "number " + llvm::Twine(number)).getValue();
}

static Facts signatureFacts(func::FuncOp function, bool isOfResults) {
  Facts facts;
  ArrayRef<Type> types = isOfResults ? function.getResultTypes() : function.getArgumentTypes();
  for (auto [i, type] : llvm::enumerate(types)) {
    DictionaryAttr attributes = isOfResults ? function.getResultAttrDict(i) : function.getArgAttrDict(i);
    std::string text = typeText(type);
    if (attributes && !attributes.empty()) text += " " + textOf(attributes);
    facts[valueName(attributes, function.getContext(), i)] = text;
  }
  return facts;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static StringRef nameAround(Operation *op) {
  for (; op && !isa<func::FuncOp>(op); op = op->getParentOp())
    if (StringRef name = userName(op); !name.empty()) return name;
  return "";
}

/// The op's name, and the value of a constant.
static std::string kindOf(Operation *op) {
  std::string kind = op->getName().getStringRef().str();
  auto constant = dyn_cast<ConstantOp>(op);
  if (!constant) return kind;
  std::string value = literal(constant.getValue());
  return kind + " " + (value.empty() ? textOf(constant.getValue()) : value);
}

/// What makes a value: an op by name and kind, or an argument of which op or function.
static std::string producerOf(Value value) {
  if (Operation *op = value.getDefiningOp()) {
    StringRef name = nameAround(op);
    std::string text = (name.empty() ? "" : "`" + name.str() + "` ") + kindOf(op);
    if (op->getNumResults() > 1) text += " #" + std::to_string(cast<OpResult>(value).getResultNumber());
    return text;
  }
  auto argument = cast<BlockArgument>(value);
  unsigned number = argument.getArgNumber();
  if (auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()))
    return "argument `" + valueName(function.getArgAttrDict(number), function.getContext(), number).str() + "`";
  return "region argument " + std::to_string(number);
}

/// The ops around an op within its function, such as `repeat layer / kernel h.mlp`.
static std::string nestOf(Operation *op) {
  SmallVector<std::string> levels;
  for (Operation *parent = op->getParentOp(); parent && !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    std::string level = parent->getName().stripDialect().str();
    if (auto repeat = dyn_cast<RepeatOp>(parent)) level += " " + repeat.getAxis().getName().str();
    if (auto name = parent->getAttrOfType<StringAttr>("name")) level += " " + name.getValue().str();
    levels.push_back(level);
  }
  return llvm::join(llvm::reverse(levels), " / ");
}

static OpEntry describe(Operation *op) {
  OpEntry entry;
  entry.name = nameAround(op).str();
  entry.isNamed = !userName(op).empty();
  entry.kind = kindOf(op);
  entry.nest = nestOf(op);
  auto typesOf = [](TypeRange types) { return llvm::join(llvm::map_range(types, typeText), ", "); };
  entry.types = "(" + typesOf(op->getOperandTypes()) + ") -> (" + typesOf(op->getResultTypes()) + ")";
  for (NamedAttribute attribute : op->getAttrs())
    if (attribute.getName() != attrs::name && !attribute.getName().getValue().ends_with("SegmentSizes"))
      entry.attributes[attribute.getName().str()] = textOf(attribute.getValue());
  entry.operands = llvm::join(llvm::map_range(op->getOperands(), producerOf), ", ");
  return entry;
}

static std::vector<OpEntry> describeOps(func::FuncOp function) {
  std::vector<OpEntry> entries;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != function) entries.push_back(describe(op));
  });
  return entries;
}

/// How an op differs from its partner; empty if it does not.
static std::string difference(const OpEntry &before, const OpEntry &after) {
  SmallVector<std::string> parts;
  auto compare = [&](StringRef what, StringRef old, StringRef now) {
    if (old != now)
      parts.push_back((what + " " + (old.empty() ? "none" : old) + " => " + (now.empty() ? "none" : now)).str());
  };
  compare("nest", before.nest, after.nest);
  compare("types", before.types, after.types);
  std::map<std::string, std::pair<StringRef, StringRef>> attributes;
  for (auto &[name, value] : before.attributes) attributes[name].first = value;
  for (auto &[name, value] : after.attributes) attributes[name].second = value;
  for (auto &[name, values] : attributes) compare(name, values.first, values.second);
  compare("operands", before.operands, after.operands);
  return llvm::join(parts, "; ");
}

/// `tsr.mul, 2 tsr.add` of kinds with their counts.
static std::string kindList(const llvm::MapVector<StringRef, size_t> &kinds) {
  SmallVector<std::string> texts;
  for (auto &[kind, count] : kinds) texts.push_back((count > 1 ? std::to_string(count) + " " : "") + kind.str());
  return llvm::join(texts, ", ");
}

/// One line for the entries of each name that lack a partner. Returns how many there are.
static size_t printUnmatched(char sign, ArrayRef<OpEntry> entries, raw_ostream &out) {
  llvm::MapVector<StringRef, llvm::MapVector<StringRef, size_t>> byName;
  size_t count = 0;
  for (const OpEntry &entry : entries)
    if (!entry.partner) ++byName[entry.name][entry.kind], ++count;
  for (auto &[name, kinds] : byName)
    out << "  " << sign << " " << (name.empty() ? StringRef("(no name)") : name) << ": " << kindList(kinds) << "\n";
  return count;
}

/// One line for the ops of each nest that were in another one, or had another name. Returns how many there are.
static size_t printMoved(ArrayRef<OpEntry> entries, raw_ostream &out) {
  llvm::MapVector<StringRef, llvm::MapVector<StringRef, size_t>> byNest;
  size_t count = 0;
  for (const OpEntry &entry : entries)
    if (entry.isMoved()) ++byNest[entry.nest][entry.kind], ++count;
  for (auto &[nest, kinds] : byNest)
    out << "  > into " << (nest.empty() ? StringRef("the function") : nest) << ": " << kindList(kinds) << "\n";
  return count;
}

/// Makes partners of the ops of two versions of a function.
static void matchOps(std::vector<OpEntry> &before, std::vector<OpEntry> &after) {
  auto ifNamed = [](const OpEntry &entry, std::string key) { return entry.isNamed ? key : std::string(); };
  match(before, after, [](const OpEntry &entry) { return entry.everything(); });
  match(before, after, [&](const OpEntry &entry) { return ifNamed(entry, entry.identity() + '\n' + entry.nest); });
  match(before, after, [&](const OpEntry &entry) { return ifNamed(entry, entry.identity()); });
  match(before, after, [](const OpEntry &entry) { return entry.shape(); });
}

static bool printOps(func::FuncOp before, func::FuncOp after, raw_ostream &out) {
  std::vector<OpEntry> old = describeOps(before), now = describeOps(after);
  matchOps(old, now);
  std::string lines;
  llvm::raw_string_ostream body(lines);
  size_t removed = printUnmatched('-', old, body);
  size_t added = printUnmatched('+', now, body);
  size_t moved = printMoved(now, body);
  size_t changed = 0, same = 0;
  for (const OpEntry &entry : now) {
    if (!entry.partner || entry.isMoved()) continue;
    std::string text = difference(*entry.partner, entry);
    ++(text.empty() ? same : changed);
    if (!text.empty())
      body << "  ~ " << (entry.name.empty() ? "(no name)" : entry.name) << ": " << entry.kind << ": " << text << "\n";
  }
  // The section of arguments says how these differ.
  bool isOtherwise = lines.empty() && before.getArgumentTypes() == after.getArgumentTypes() &&
                     !OperationEquivalence::isRegionEquivalentTo(&before.getBody(), &after.getBody(),
                                                                 OperationEquivalence::IgnoreLocations);
  if (lines.empty() && !isOtherwise) return false;
  out << after.getName() << ": "
      << (isOtherwise ? "the same ops in another order, or on other operands of the same kinds"
                      : counts({{added, "added"},
                                {removed, "removed"},
                                {moved, "moved"},
                                {changed, "changed"},
                                {same, "the same"}}))
      << "\n"
      << lines;
  return true;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

bool tessera::printModuleDiff(ModuleOp before, ModuleOp after, raw_ostream &out) {
  bool differs = printFacts("module", moduleFacts(before), moduleFacts(after), out);
  differs |= printFacts("state", stateFacts(before), stateFacts(after), out);
  auto functionsOf = [](ModuleOp module) {
    Facts facts;
    for (func::FuncOp function : module.getOps<func::FuncOp>())
      facts[function.getName()] = std::to_string(describeOps(function).size()) + " ops";
    return facts;
  };
  Facts old = functionsOf(before), now = functionsOf(after);
  for (auto &[name, text] : old)
    if (!now.contains(name)) out << name << ": removed, " << text << "\n", differs = true;
  for (auto &[name, text] : now) {
    if (!old.contains(name)) {
      out << name << ": added, " << text << "\n", differs = true;
      continue;
    }
    auto from = before.lookupSymbol<func::FuncOp>(name), to = after.lookupSymbol<func::FuncOp>(name);
    for (bool isOfResults : {false, true})
      differs |= printFacts((name + (isOfResults ? " results" : " arguments")).str(), signatureFacts(from, isOfResults),
                            signatureFacts(to, isOfResults), out);
    differs |= printOps(from, to, out);
  }
  return differs;
}
