//===- EvaluateStructure.cpp - repeat, kernel and tiled, exchanges --------===//

#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include "ir/interpreter/Lockstep.h"

using namespace mlir;
using namespace tessera;

/// Calls `body` with the offset of each element of the slice of `whole` at a position of an axis, and of `part`.
static void forEachInSlice(NamedTensorType whole, NamedTensorType part, StringRef axis, int64_t position,
                           function_ref<void(int64_t, int64_t)> body) {
  int64_t start = position * whole.getStrides()[whole.findAxis(axis)];
  IterationSpace space(part.getAxes());
  space.add(whole).add(part).forEach([&](ArrayRef<int64_t> at) { body(at[0] + start, at[1]); });
}

LogicalResult RepeatOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                 Interpreter &interpreter) {
  StringRef axis = getAxis().getName();
  int64_t size = getAxis().getSize();
  size_t carriedCount = getCarried().size(), slicedCount = getSliced().size();
  auto sliced = operands.slice(carriedCount, slicedCount);
  auto invariants = operands.drop_front(carriedCount + slicedCount);
  SmallVector<TensorValue> carried(operands.take_front(carriedCount));

  for (int64_t step = 0; step < size; ++step) {
    int64_t i = getReverse() ? size - 1 - step : step;
    SmallVector<TensorValue> arguments;
    TensorValue &induction = arguments.emplace_back(tensorType(getInduction()));
    induction.data[0] = i;
    llvm::append_range(arguments, carried);
    for (auto [whole, argument] : llvm::zip(sliced, getSlicedArgs())) {
      TensorValue part(tensorType(argument));
      forEachInSlice(whole.type, part.type, axis, i,
                     [&](int64_t from, int64_t to) { part.data[to] = whole.data[from]; });
      arguments.push_back(std::move(part));
    }
    llvm::append_range(arguments, invariants);

    FailureOr<SmallVector<TensorValue>> yielded = interpreter.runBlock(getBlock(), arguments);
    if (failed(yielded)) return failure();
    carried.assign(yielded->begin(), yielded->begin() + carriedCount);
    for (size_t k = carriedCount; k < yielded->size(); ++k) {
      const TensorValue &part = (*yielded)[k];
      TensorValue &whole = results[k];
      forEachInSlice(whole.type, part.type, axis, i,
                     [&](int64_t to, int64_t from) { whole.data[to] = part.data[from]; });
    }
  }
  llvm::copy(carried, results.begin());
  return success();
}

/// A region that means what its ops mean.
static LogicalResult evaluateRegion(Block &block, ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                    Interpreter &interpreter) {
  FailureOr<SmallVector<TensorValue>> yielded = interpreter.runBlock(block, operands);
  if (failed(yielded)) return failure();
  llvm::copy(*yielded, results.begin());
  return success();
}

LogicalResult KernelOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                 Interpreter &interpreter) {
  return evaluateRegion(getBlock(), operands, results, interpreter);
}

LogicalResult TiledOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                Interpreter &interpreter) {
  return evaluateRegion(getBlock(), operands, results, interpreter);
}

LogicalResult StartOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results,
                                Interpreter &interpreter) {
  if (!interpreter.getExchange()) return emitOpError("exchanges with ranks, and there is only one");
  FailureOr<TensorValue> received = interpreter.getExchange()->exchange(*this, operands[0]);
  if (failed(received)) return failure();
  results[0] = std::move(*received);
  return success();
}

LogicalResult WaitOp::evaluate(ArrayRef<TensorValue> operands, MutableArrayRef<TensorValue> results, Interpreter &) {
  results[0] = operands[0];
  return success();
}
