//===- Program.cpp - the module as a program ------------------------------===//

#include "ir/program/Program.h"
#include "runtime/base/Printable.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tessera;

SmallVector<func::FuncOp> tessera::entryFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (StringRef name : {"init", "step", "evaluate", "predict", "generate", "shadow"})
    if (auto function = module.lookupSymbol<func::FuncOp>(name)) entries.push_back(function);
  return entries;
}

SmallVector<StateOp> tessera::stateTable(ModuleOp module) { return llvm::to_vector(module.getOps<StateOp>()); }

llvm::StringMap<StateOp> tessera::statesByPath(ModuleOp module) {
  llvm::StringMap<StateOp> states;
  for (StateOp state : module.getOps<StateOp>()) states[state.getPath()] = state;
  return states;
}

StringRef tessera::argumentState(func::FuncOp function, unsigned argument) {
  auto ref = function.getArgAttrOfType<FlatSymbolRefAttr>(argument, attrs::state);
  return ref ? ref.getValue() : StringRef();
}

StringRef tessera::resultState(func::FuncOp function, unsigned result) {
  auto ref = function.getResultAttrOfType<FlatSymbolRefAttr>(result, attrs::state);
  return ref ? ref.getValue() : StringRef();
}

/// The axis names under `order` in a tag.
static SmallVector<StringRef> orderOf(DictionaryAttr tag) {
  auto order = tag ? tag.getAs<ArrayAttr>("order") : ArrayAttr();
  return order ? names(order) : SmallVector<StringRef>();
}

SmallVector<StringRef> tessera::argumentOrder(func::FuncOp function, unsigned argument) {
  return orderOf(function.getArgAttrOfType<DictionaryAttr>(argument, attrs::input));
}

SmallVector<StringRef> tessera::resultOrder(func::FuncOp function, unsigned result) {
  return orderOf(function.getResultAttrOfType<DictionaryAttr>(result, attrs::output));
}

/// The dictionaries of `old`, each with `name` set.
static SmallVector<Attribute> withAttribute(ArrayRef<DictionaryAttr> old, StringRef name,
                                            ArrayRef<Attribute> attributes) {
  SmallVector<Attribute> changed;
  for (auto [dictionary, attribute] : llvm::zip_equal(old, attributes)) {
    NamedAttrList list(dictionary);
    list.set(name, attribute);
    changed.push_back(list.getDictionary(attribute.getContext()));
  }
  return changed;
}

void tessera::setArgumentAttrs(func::FuncOp function, StringRef name, ArrayRef<Attribute> attributes) {
  SmallVector<DictionaryAttr> old;
  function.getAllArgAttrs(old);
  function.setAllArgAttrs(withAttribute(old, name, attributes));
}

void tessera::setResultAttrs(func::FuncOp function, StringRef name, ArrayRef<Attribute> attributes) {
  SmallVector<DictionaryAttr> old;
  function.getAllResultAttrs(old);
  function.setAllResultAttrs(withAttribute(old, name, attributes));
}

/// Files of the library that comes with the compiler: no user has a line in them.
static bool isLibrary(StringRef file) { return file.starts_with("nn/"); }

bool tessera::hasShadow(ModuleOp module) { return module.lookupSymbol<func::FuncOp>("shadow") != nullptr; }

FileLineColLoc tessera::userPlace(Location loc) {
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    FileLineColLoc inner = userPlace(call.getCallee());
    return inner ? inner : userPlace(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = userPlace(part)) return place;
    return {};
  }
  auto file = dyn_cast<FileLineColLoc>(loc);
  return file && !isLibrary(file.getFilename().getValue()) ? file : FileLineColLoc();
}

std::string tessera::fileNameInLines(StringRef path) { return runtime::printable(llvm::sys::path::filename(path)); }

std::string tessera::userLine(Location loc) {
  FileLineColLoc file = userPlace(loc);
  if (!file) return "";
  std::string name = fileNameInLines(file.getFilename().getValue());
  return (name + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
}

DictionaryAttr tessera::sourceOf(ModuleOp module) {
  auto loc = dyn_cast<FusedLoc>(module.getLoc());
  return loc ? dyn_cast_or_null<DictionaryAttr>(loc.getMetadata()) : DictionaryAttr();
}

void tessera::setSource(ModuleOp module, DictionaryAttr source) {
  module->setLoc(FusedLoc::get({module.getLoc()}, source, module.getContext()));
}

std::string tessera::freshName(std::string name, StringRef suffix, function_ref<bool(StringRef)> isTaken) {
  while (isTaken(name)) name += suffix;
  return name;
}

int64_t tessera::runsPerCall(Operation *op) {
  int64_t runs = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>(); repeat; repeat = repeat->getParentOfType<RepeatOp>())
    runs *= repeat.getAxis().getSize();
  return runs;
}
