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
  Regions.clear();
  EntryScalars.clear();
  continueAtLevel();
}

mlir::Value RegionStack::import(mlir::Value value, unsigned fromLevel) {
  for (unsigned l = fromLevel; l < Regions.size(); ++l) {
    mlir::Value &captured = Regions[l].captured[value];
    if (!captured) captured = Regions[l].addInvariant(value, value.getLoc());
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

llvm::SmallVector<mlir::Value> RegionStack::salts() {
  llvm::SmallVector<mlir::Value> values;
  for (unsigned l = 0; l < Regions.size(); ++l) values.push_back(import(Regions[l].induction(), l + 1));
  if (!Entry.isEvaluate()) return values;
  values.push_back(import(Entry.plainInput("batch_number", B.scalarType(I32)), 0));
  return values;
}

void RegionStack::push(AxisRef axis, bool isMicro) {
  RepeatRegion &inner = Regions.emplace_back();
  inner.axis = std::move(axis);
  inner.isMicro = isMicro;
  inner.block = new mlir::Block();
  inner.block->addArgument(B.scalarType(I32), B.getLoc());
  continueAtLevel();
}

/// After a repeat a loss is the sum over its iterations, and a metric the mean. Over micro-batches both are sums, since
/// the means of each have been scaled.
std::vector<mlir::Value> RegionStack::pop(llvm::ArrayRef<mlir::Value> next) {
  AxisAttr along = axis(&Context, Regions.back().axis.name, Regions.back().axis.size);
  llvm::SmallVector<mlir::Value> yielded(next);
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : next) types.push_back(value.getType());
  for (const LoggedScalar &log : Regions.back().loggedScalars) {
    yielded.push_back(log.value);
    types.push_back(B.withAxis(tensorType(log.value), along));
  }
  YieldOp::create(B, B.getLoc(), yielded);
  RepeatRegion inner = std::move(Regions.back());
  Regions.pop_back();
  continueAtLevel();
  auto repeat = RepeatOp::create(B, B.getLoc(), types, along, /*reverse=*/nullptr, inner.carried, inner.sliced,
                                 inner.invariants, /*argPlaces=*/nullptr);
  repeat.getBody().push_back(inner.block);
  std::vector<mlir::Value> results(repeat.getResults().begin(), repeat.getResults().begin() + next.size());
  for (auto [log, stacked] : llvm::zip(inner.loggedScalars, repeat.getResults().drop_front(next.size()))) {
    LoggedScalar outside = log;
    bool isSum = log.isLoss || inner.isMicro;
    outside.value = isSum ? B.sum(stacked, {along.getName()}) : B.mean(stacked, {along.getName()});
    outside.count = nullptr;
    addLoggedScalar(std::move(outside));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Losses and metrics
//===----------------------------------------------------------------------===//

bool RegionStack::addLoggedScalar(LoggedScalar entry) {
  for (const LoggedScalar &other : loggedScalars()) {
    if (other.name != entry.name) continue;
    if (!(other.span == entry.span))
      error(DiagnosticCode::E0202, entry.span, "two losses or metrics are called `" + entry.name + "`")
          .label(other.span, "the first one");
    else if (other.expansion != entry.expansion)
      error(DiagnosticCode::E0202, entry.modelCall,
            "`" + entry.name + "` would be logged twice: the model is called twice")
          .label(other.modelCall, "first called here")
          .label(entry.span, "logged in each call")
          .help("call the model once and name its result: `let y = " + Declared.model->name.text + "(…)`");
    else
      error(DiagnosticCode::E0202, entry.call, "`" + entry.name + "` would be logged twice: two calls have one path")
          .label(other.call, "first called here")
          .label(entry.span, "logged in each call")
          .help("label one of the calls: `second: …(…)`");
    return false;
  }
  loggedScalars().push_back(std::move(entry));
  return true;
}
