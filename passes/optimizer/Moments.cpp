//===- Moments.cpp - optimizer state in the table and the entries ---------===//

#include "ir/Program.h"
#include "passes/optimizer/Optimizer.h"

using namespace mlir;
using namespace tessera;

MomentTable::MomentTable(ModuleOp module)
    : module(module), init(module.lookupSymbol<func::FuncOp>("init")), step(module.lookupSymbol<func::FuncOp>("step")) {
}

/// One more than the last position that `hasState` says carries state.
static unsigned endOfState(unsigned count, function_ref<bool(unsigned)> hasState) {
  while (count > 0 && !hasState(count - 1)) --count;
  return count;
}

static DictionaryAttr stateTag(OpBuilder &b, StringRef path) {
  return b.getDictionaryAttr(b.getNamedAttr(attrs::state, FlatSymbolRefAttr::get(b.getContext(), path)));
}

/// Inserts a result, and the operand of the return, after the function's other state.
static void addStateResult(func::FuncOp function, StringRef path, Value value) {
  unsigned at = endOfState(function.getNumResults(), [&](unsigned i) { return !resultState(function, i).empty(); });
  OpBuilder b(function.getContext());
  (void)function.insertResult(at, value.getType(), stateTag(b, path));
  function.getBody().front().getTerminator()->insertOperands(at, value);
}

void MomentTable::addToTable(StringRef path, NamedTensorType type, ArrayAttr order, Location loc) {
  OpBuilder b(module.getContext());
  SmallVector<StateOp> table = stateTable(module);
  b.setInsertionPointAfter(table.back());
  StateOp::create(b, loc, path, "moment", type, PlaceAttr(), order);
}

void MomentTable::addToInit(StringRef path, NamedTensorType type) {
  if (!init) return;
  GraphBuilder b(init.getBody().front().getTerminator());
  addStateResult(init, path, b.constant(0, type));
}

Value MomentTable::addToStep(StringRef path, NamedTensorType type, Location loc) {
  unsigned at = endOfState(step.getNumArguments(), [&](unsigned i) { return !argumentState(step, i).empty(); });
  OpBuilder b(step.getContext());
  (void)step.insertArgument(at, type, stateTag(b, path), loc);
  return step.getArgument(at);
}

FailureOr<SmallVector<Value>> MomentTable::add(UpdateOp update) {
  if (update->getParentOp() != step) return update.emitOpError("expected to stand in the body of `step`");
  StateOp parameter = findState(module, update.getState());
  if (!parameter) return update.emitOpError("no state is called `") << update.getState() << "`";
  FailureOr<SmallVector<StringRef>> kept = momentNames(update);
  if (failed(kept)) return failure();
  pending.clear();
  SmallVector<Value> arguments;
  NamedTensorType type = update.getParameter().getType();
  for (StringRef name : *kept) {
    std::string path = (update.getState() + "." + name).str();
    if (findState(module, path)) return update.emitOpError("two states would be called `") << path << "`";
    addToTable(path, type, parameter.getOrderAttr(), update.getLoc());
    addToInit(path, type);
    arguments.push_back(addToStep(path, type, update.getLoc()));
    pending.push_back(path);
  }
  return arguments;
}

void MomentTable::setResults(ArrayRef<Value> moments) {
  for (auto [path, value] : llvm::zip(pending, moments)) addStateResult(step, path, value);
}
