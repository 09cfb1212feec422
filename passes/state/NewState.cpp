//===- NewState.cpp - state in the table and in the entries ----------------===//

#include "passes/state/NewState.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

/// One more than the last position that `hasState` says carries state.
static unsigned endOfState(unsigned count, function_ref<bool(unsigned)> hasState) {
  while (count > 0 && !hasState(count - 1)) --count;
  return count;
}

NewState::NewState(ModuleOp module)
    : module(module), init(module.lookupSymbol<func::FuncOp>("init")), step(module.lookupSymbol<func::FuncOp>("step")),
      states(statesByPath(module)) {
  for (StateOp state : stateTable(module)) lastState = state;
  if (step)
    firstArgument = endOfState(step.getNumArguments(), [&](unsigned i) { return !argumentState(step, i).empty(); });
}

Value NewState::add(StringRef path, StringRef kind, NamedTensorType type, ArrayAttr order, double first, Location loc) {
  OpBuilder b(module.getContext());
  if (lastState)
    b.setInsertionPointAfter(lastState);
  else
    b.setInsertionPointToStart(module.getBody());
  states[path] = lastState = StateOp::create(b, loc, path, kind, type, PlaceAttr(), order);
  if (init) {
    GraphBuilder inInit(init.getBody().front().getTerminator());
    initial.push_back(inInit.constant(first, type));
  }
  unsigned at = firstArgument + paths.size();
  paths.push_back(path.str());
  return step.getBody().front().insertArgument(at, type, loc);
}

void NewState::setResults(ArrayRef<Value> values) { llvm::append_range(stepped, values); }

/// Puts `tags` into the attributes of arguments or results.
static ArrayAttr withTags(ArrayRef<DictionaryAttr> old, unsigned at, ArrayRef<DictionaryAttr> tags, Builder b) {
  SmallVector<Attribute> all(old.begin(), old.begin() + at);
  all.append(tags.begin(), tags.end());
  all.append(old.begin() + at, old.end());
  return b.getArrayAttr(all);
}

void NewState::finish() {
  if (paths.empty()) return;
  Builder b(module.getContext());
  SmallVector<DictionaryAttr> tags = llvm::map_to_vector(paths, [&](StringRef path) {
    return b.getDictionaryAttr(b.getNamedAttr(attrs::state, FlatSymbolRefAttr::get(b.getContext(), path)));
  });
  SmallVector<DictionaryAttr> argumentAttrs;
  step.getAllArgAttrs(argumentAttrs);
  // The type first: the attributes must be as many as it has arguments and results.
  auto addResults = [&](func::FuncOp function, ArrayRef<Value> values) {
    SmallVector<DictionaryAttr> old;
    function.getAllResultAttrs(old);
    unsigned at = endOfState(old.size(), [&](unsigned i) { return !resultState(function, i).empty(); });
    Block &block = function.getBody().front();
    block.getTerminator()->insertOperands(at, values);
    function.setFunctionType(b.getFunctionType(block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
    function.setAllResultAttrs(withTags(old, at, tags, b));
  };
  addResults(step, stepped);
  step.setAllArgAttrs(withTags(argumentAttrs, firstArgument, tags, b));
  if (init) addResults(init, initial);
}
