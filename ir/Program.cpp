//===- Program.cpp - the module as a program ------------------------------===//

#include "ir/Program.h"

using namespace mlir;
using namespace tessera;

SmallVector<func::FuncOp> tessera::entryFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (StringRef name : {"init", "step", "evaluate", "predict"})
    if (auto function = module.lookupSymbol<func::FuncOp>(name)) entries.push_back(function);
  return entries;
}

SmallVector<StateOp> tessera::stateTable(ModuleOp module) { return llvm::to_vector(module.getOps<StateOp>()); }

StateOp tessera::findState(ModuleOp module, StringRef path) {
  for (StateOp state : module.getOps<StateOp>())
    if (state.getPath() == path) return state;
  return nullptr;
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

StringRef tessera::userName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(attrs::name);
  return name ? name.getValue() : StringRef();
}
