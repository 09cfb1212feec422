//===- Moments.cpp - optimizer state in the table and the entries ---------===//

#include "ir/Program.h"
#include "passes/optimizer/Optimizer.h"

using namespace mlir;
using namespace tessera;

/// One more than the last position that `hasState` says carries state.
static unsigned endOfState(unsigned count, function_ref<bool(unsigned)> hasState) {
  while (count > 0 && !hasState(count - 1)) --count;
  return count;
}

MomentTable::MomentTable(ModuleOp module)
    : module(module), init(module.lookupSymbol<func::FuncOp>("init")), step(module.lookupSymbol<func::FuncOp>("step")),
      states(statesByPath(module)) {
  for (StateOp state : stateTable(module)) lastState = state;
  if (step)
    firstArgument = endOfState(step.getNumArguments(), [&](unsigned i) { return !argumentState(step, i).empty(); });
}

void MomentTable::addToTable(StringRef path, NamedTensorType type, ArrayAttr order, Location loc) {
  OpBuilder b(module.getContext());
  b.setInsertionPointAfter(lastState);
  states[path] = lastState = StateOp::create(b, loc, path, "moment", type, PlaceAttr(), order);
}

FailureOr<SmallVector<Value>> MomentTable::add(UpdateOp update) {
  if (update->getParentOp() != step) return update.emitOpError("expected to stand in the body of `step`");
  StateOp parameter = states.lookup(update.getState());
  if (!parameter) return update.emitOpError("no state is called `") << update.getState() << "`";
  FailureOr<SmallVector<StringRef>> kept = momentNames(update);
  if (failed(kept)) return failure();
  SmallVector<Value> arguments;
  NamedTensorType type = update.getParameter().getType();
  for (StringRef name : *kept) {
    std::string path = (update.getState() + "." + name).str();
    if (states.contains(path)) return update.emitOpError("two states would be called `") << path << "`";
    addToTable(path, type, parameter.getOrderAttr(), update.getLoc());
    if (init) {
      GraphBuilder b(init.getBody().front().getTerminator());
      initial.push_back(b.constant(0, type));
    }
    unsigned at = firstArgument + paths.size();
    arguments.push_back(step.getBody().front().insertArgument(at, type, update.getLoc()));
    paths.push_back(std::move(path));
  }
  return arguments;
}

void MomentTable::setResults(ArrayRef<Value> moments) { llvm::append_range(stepped, moments); }

/// Puts `tags` into the attributes of arguments or results.
static ArrayAttr withTags(ArrayRef<DictionaryAttr> old, unsigned at, ArrayRef<DictionaryAttr> tags, Builder b) {
  SmallVector<Attribute> all(old.begin(), old.begin() + at);
  all.append(tags.begin(), tags.end());
  all.append(old.begin() + at, old.end());
  return b.getArrayAttr(all);
}

void MomentTable::finish() {
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
