//===- ArenaTarget.cpp - the interpreter through an arena ---------------------===//

#include "tests/memory/ArenaTarget.h"
#include "ir/Program.h"
#include "passes/layout/Views.h"
#include <cstring>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

//===----------------------------------------------------------------------===//
// Numbers as bytes
//===----------------------------------------------------------------------===//

template <typename T> static void store(unsigned char *to, double number) {
  T typed = static_cast<T>(number);
  std::memcpy(to, &typed, sizeof typed);
}
template <typename T> static double fetch(const unsigned char *from) {
  T typed;
  std::memcpy(&typed, from, sizeof typed);
  return static_cast<double>(typed);
}

static void encode(unsigned char *to, double number, Type type) {
  if (type.isF64())
    store<double>(to, number);
  else if (type.isF32())
    store<float>(to, number);
  else if (type.isInteger(64))
    store<int64_t>(to, number);
  else if (type.isInteger(32))
    store<int32_t>(to, number);
  else
    store<unsigned char>(to, number);
}

static double decode(const unsigned char *from, Type type) {
  if (type.isF64()) return fetch<double>(from);
  if (type.isF32()) return fetch<float>(from);
  if (type.isInteger(64)) return fetch<int64_t>(from);
  if (type.isInteger(32)) return fetch<int32_t>(from);
  return fetch<unsigned char>(from);
}

static int64_t elementBytes(NamedTensorType type) { return type.getNumBytes() / type.getNumElements(); }

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
  TensorValue result(tensorType(value));
  const unsigned char *from = arena.data() + address(value);
  for (double &number : result.data) {
    number = decode(from, result.type.getElementType());
    from += elementBytes(result.type);
  }
  return result;
}

void ArenaTarget::write(Value value, const TensorValue &numbers) {
  NamedTensorType type = tensorType(value);
  TensorValue ordered = numbers.reordered(type);
  unsigned char *to = arena.data() + address(value);
  for (double number : ordered.data) {
    encode(to, number, type.getElementType());
    to += elementBytes(type);
  }
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
