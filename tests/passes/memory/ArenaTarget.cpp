//===- ArenaTarget.cpp - the interpreter through an arena ---------------------===//

#include "tests/passes/memory/ArenaTarget.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "tests/support/TensorBytes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void ArenaTarget::place(ValueRange values, ArrayAttr list) {
  for (auto [value, attr] : llvm::zip(values, list)) places[value] = cast<PlaceAttr>(attr);
}

int64_t ArenaTarget::address(Value value) const {
  PlaceAttr place = places.lookup(value);
  int64_t result = place.getOffset();
  for (auto [stride, induction] : llvm::zip(place.getStrides(), inductions)) result += stride * induction;
  return result;
}

TensorValue ArenaTarget::read(Value value) const {
  return fetchTensor(tensorType(value), arena.data() + address(value));
}

void ArenaTarget::write(Value value, const TensorValue &numbers) {
  storeTensor(numbers, tensorType(value), arena.data() + address(value));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult ArenaTarget::runOp(Operation *op) {
  if (isa<YieldOp, func::ReturnOp>(op)) return success();
  place(op->getResults(), op->getAttrOfType<ArrayAttr>(attrs::places));
  if (isStorageView(op)) return success();
  if (auto repeat = dyn_cast<RepeatOp>(op)) return runRepeat(repeat);
  SmallVector<TensorValue> operands = llvm::map_to_vector(op->getOperands(), [&](Value v) { return read(v); });
  SmallVector<TensorValue> results =
      llvm::map_to_vector(op->getResults(), [](Value v) { return TensorValue(tensorType(v)); });
  Interpreter interpreter;
  if (failed(cast<EvaluateOpInterface>(op).evaluate(operands, results, interpreter))) return failure();
  for (auto [value, numbers] : llvm::zip(op->getResults(), results)) write(value, numbers);
  return success();
}

LogicalResult ArenaTarget::runRepeat(RepeatOp repeat) {
  place(repeat.getBlock().getArguments(), repeat.getArgPlacesAttr());
  int64_t count = repeat.getAxis().getSize();
  for (int64_t step = 0; step < count; ++step) {
    inductions.push_back(repeat.getReverse() ? count - 1 - step : step);
    TensorValue induction(tensorType(repeat.getInduction()));
    induction.data[0] = inductions.back();
    write(repeat.getInduction(), induction);
    if (failed(runBlock(repeat.getBlock()))) return failure();
    inductions.pop_back();
  }
  return success();
}

LogicalResult ArenaTarget::runBlock(Block &block) {
  for (Operation &op : block)
    if (failed(runOp(&op))) return failure();
  return success();
}

LogicalResult ArenaTarget::load(ModuleOp loaded) {
  module = loaded;
  auto bytes = module->getAttrOfType<IntegerAttr>(attrs::arena);
  if (!bytes) return module.emitError("expected a scheduled module");
  arena.resize(bytes.getInt());
  return success();
}

FailureOr<Values> ArenaTarget::run(StringRef entry, const Values &values) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  std::fill(arena.begin(), arena.end(), 0xee);
  places.clear();
  for (BlockArgument argument : function.getArguments()) {
    auto it = values.find(argumentName(function, argument.getArgNumber()));
    if (it == values.end()) return function.emitError("no value for argument ") << argument.getArgNumber();
    places[argument] = function.getArgAttrOfType<PlaceAttr>(argument.getArgNumber(), attrs::place);
    write(argument, it->second);
  }
  Block &block = function.getBody().front();
  if (failed(runBlock(block))) return failure();
  Values results;
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
    places[value] = function.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    results[resultName(function, i)] = read(value);
  }
  return results;
}
