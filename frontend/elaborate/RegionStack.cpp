//===- RegionStack.cpp - building repeats -----------------------------------===//

#include "frontend/elaborate/RegionStack.h"

using namespace tessera;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Operands of a repeat
//===----------------------------------------------------------------------===//

mlir::Value RepeatRegion::addCarried(mlir::Value initial, mlir::Location location) {
  carried.push_back(initial);
  return block->insertArgument(carried.size(), initial.getType(), location);
}

mlir::Value RepeatRegion::addCarriedState(StringRef path, mlir::Value initial, mlir::Location location) {
  carriedStates.push_back(path.str());
  return addCarried(initial, location);
}

mlir::Value RepeatRegion::addInvariant(mlir::Value value, mlir::Location location) {
  invariants.push_back(value);
  return block->addArgument(value.getType(), location);
}

mlir::Value RepeatRegion::addSliced(mlir::Value stacked, NamedTensorType type, mlir::Location location) {
  sliced.push_back(stacked);
  return block->insertArgument(carried.size() + sliced.size(), type, location);
}

//===----------------------------------------------------------------------===//
// Levels
//===----------------------------------------------------------------------===//

void RegionStack::beginEntry() {
  stack.clear();
  entryScalars.clear();
  entryStates.clear();
  continueAtLevel();
}

mlir::Value RegionStack::import(mlir::Value value, unsigned fromLevel) {
  for (unsigned l = fromLevel; l < stack.size(); ++l) {
    mlir::Value &captured = stack[l].captured[value];
    if (!captured) captured = stack[l].addInvariant(value, value.getLoc());
    value = captured;
  }
  return value;
}

Tensor RegionStack::here(Tensor tensor) {
  if (tensor.level < level()) {
    tensor.value = import(tensor.value, tensor.level);
    tensor.level = level();
  }
  return tensor;
}

LanguageValue RegionStack::here(LanguageValue value) {
  if (value.isTensor()) value.tensor = here(value.tensor);
  for (auto &[name, element] : value.elements) element = here(std::move(element));
  return value;
}

llvm::SmallVector<mlir::Value> RegionStack::salts() {
  llvm::SmallVector<mlir::Value> values;
  for (unsigned l = 0; l < stack.size(); ++l) values.push_back(import(stack[l].induction(), l + 1));
  if (!entry.takesDataSet()) return values;
  values.push_back(import(entry.plainInput("batch_number", builder.scalarType(i32)), 0));
  return values;
}

void RegionStack::push(AxisRef axis, bool isMicro) {
  RepeatRegion &inner = stack.emplace_back();
  inner.axis = std::move(axis);
  inner.isMicro = isMicro;
  inner.block = new mlir::Block();
  inner.block->addArgument(builder.scalarType(i32), builder.getLoc());
  continueAtLevel();
}

/// After a repeat a loss is the sum over its iterations, and a metric the mean. Over micro-batches both are sums, since
/// the means of each have been scaled.
std::vector<mlir::Value> RegionStack::pop(llvm::ArrayRef<mlir::Value> next) {
  AxisAttr along = axis(&context, stack.back().axis.name, stack.back().axis.size);
  llvm::SmallVector<mlir::Value> yielded(next);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : next) types.push_back(value.getType());
  auto stackUp = [&](mlir::Value value) {
    yielded.push_back(value);
    types.push_back(builder.withAxis(tensorType(value), along));
  };
  for (const LoggedScalar &log : stack.back().loggedScalars) stackUp(log.value);
  if (!stack.back().isMicro)
    for (const AssignedState &state : stack.back().assignedStates) stackUp(state.value);
  YieldOp::create(builder, builder.getLoc(), yielded);
  RepeatRegion inner = std::move(stack.back());
  stack.pop_back();
  continueAtLevel();
  auto repeat = RepeatOp::create(builder, builder.getLoc(), types, along, /*reverse=*/nullptr, inner.carried,
                                 inner.sliced, inner.invariants, /*argPlaces=*/nullptr);
  repeat.getBody().push_back(inner.block);
  std::vector<mlir::Value> results(repeat.getResults().begin(), repeat.getResults().begin() + next.size());
  for (auto [log, stacked] : llvm::zip(inner.loggedScalars, repeat.getResults().drop_front(next.size()))) {
    LoggedScalar outside = log;
    bool isSum = log.isLoss || inner.isMicro;
    outside.value = isSum ? builder.sum(stacked, {along.getName()}) : builder.mean(stacked, {along.getName()});
    outside.count = nullptr;
    addLoggedScalar(std::move(outside));
  }
  if (!inner.isMicro)
    for (auto [state, stacked] :
         llvm::zip(inner.assignedStates, repeat.getResults().take_back(inner.assignedStates.size())))
      assignedStates().push_back({state.path, stacked, state.span});
  return results;
}

//===----------------------------------------------------------------------===//
// Losses and metrics
//===----------------------------------------------------------------------===//

bool RegionStack::addLoggedScalar(LoggedScalar scalar) {
  for (const LoggedScalar &other : loggedScalars()) {
    if (other.name != scalar.name) continue;
    if (!(other.span == scalar.span))
      error(DiagnosticCode::E0202, scalar.span, "two losses or metrics are called `" + scalar.name + "`")
          .label(other.span, "the first one");
    else if (other.expansion != scalar.expansion)
      error(DiagnosticCode::E0202, scalar.modelCall,
            "`" + scalar.name + "` would be logged twice: the model is called twice")
          .label(other.modelCall, "first called here")
          .label(scalar.span, "logged in each call")
          .help("call the model once and name its result: `let y = " + declared.model->name.text + "(…)`");
    else
      error(DiagnosticCode::E0202, scalar.call, "`" + scalar.name + "` would be logged twice: two calls have one path")
          .label(other.call, "first called here")
          .label(scalar.span, "logged in each call")
          .help("label one of the calls: `second: …(…)`");
    return false;
  }
  loggedScalars().push_back(std::move(scalar));
  return true;
}
