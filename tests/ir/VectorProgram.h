//===- VectorProgram.h - functions of vectors under selects ---------------===//

#ifndef TESSERA_TESTS_IR_VECTORPROGRAM_H
#define TESSERA_TESTS_IR_VECTORPROGRAM_H

#include "ir/autodiff/LostMasks.h"
#include "ir/dialect/Attributes.h"
#include "ir/interpreter/Interpreter.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "gtest/gtest.h"

namespace tessera::test {

using namespace mlir;

using Numbers = std::vector<std::vector<double>>;
using Build = llvm::function_ref<Value(GraphBuilder &, ValueRange)>;
using Body = llvm::function_ref<SmallVector<Value>(GraphBuilder &, ValueRange)>;

/// A function of vectors along the axis a, with the sum of its value and the gradients of that sum.
class VectorProgram {
public:
  VectorProgram(unsigned numInputs, unsigned size, Build build) {
    context.loadDialect<TsrDialect, func::FuncDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    Builder names(&context);
    (*module)->setAttr(attrs::axes, names.getStrArrayAttr({"layer", "inner", "a", "b", "c"}));
    GraphBuilder b(*module, UnknownLoc::get(&context));
    SmallVector<Type> types(numInputs, b.type(axis(&context, "a", size), b.getF64Type()));
    SmallVector<Type> results(types);
    results.insert(results.begin(), b.scalarType(b.getF64Type()));
    b.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(b, b.getLoc(), "f", b.getFunctionType(types, results));
    Block *block = function.addEntryBlock();
    b.setInsertionPointToStart(block);
    Value y = build(b, block->getArguments());
    auto axes = llvm::map_to_vector(tensorType(y).getAxes(), [](AxisAttr a) { return a.getName(); });
    Value loss = b.sum(y, axes);
    auto gradient = GradientOp::create(b, b.getLoc(), types, loss, block->getArguments());
    SmallVector<Value> returned(gradient.getGradients());
    returned.insert(returned.begin(), loss);
    func::ReturnOp::create(b, b.getLoc(), returned);
  }

  int countLostMasks() {
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front().without_terminator()) ops.push_back(&op);
    return findLostMasks(ops).size();
  }

  /// Comparisons of a gradient with 0. The conditions in these tests compare otherwise.
  int countMasks() {
    int number = 0;
    function.walk([&](CompareOp compare) { number += compare.getPredicate() == Predicate::NE; });
    return number;
  }

  void differentiate() {
    PassManager pm(&context);
    pm.addPass(createDifferentiatePass());
    EXPECT_TRUE(succeeded(pm.run(*module)));
  }

  /// The sum, then the gradients.
  Numbers run(const Numbers &inputs) {
    SmallVector<TensorValue> arguments;
    for (auto [type, data] : llvm::zip(function.getArgumentTypes(), inputs))
      arguments.emplace_back(cast<NamedTensorType>(type)).data = data;
    auto results = Interpreter(Rounding::Double).run(function, arguments);
    EXPECT_TRUE(succeeded(results));
    Numbers numbers;
    if (succeeded(results))
      for (TensorValue &value : *results) numbers.push_back(value.data);
    return numbers;
  }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
};

inline Value zero(GraphBuilder &b) { return b.scalar(0, b.getF64Type()); }

inline Value isPositive(GraphBuilder &b, Value x) { return b.compare(Predicate::GT, x, zero(b)); }

/// `where(guard > 0, guarded, 0)`.
inline Value where(GraphBuilder &b, Value guard, Value guarded) {
  return b.select(isPositive(b, guard), guarded, zero(b));
}

/// What goes into a repeat; the body gets all of it in this order.
struct RepeatOperands {
  SmallVector<Value> carried, sliced, invariants;
};

/// A repeat of two iterations without stacked results.
inline ValueRange repeat(GraphBuilder &b, StringRef axisName, const RepeatOperands &operands, Body body) {
  AxisAttr along = axis(b.getContext(), axisName, 2);
  auto op = RepeatOp::create(b, b.getLoc(), ValueRange(operands.carried).getTypes(), along, UnitAttr(),
                             operands.carried, operands.sliced, operands.invariants, ArrayAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&op.getBody());
  block->addArgument(b.scalarType(b.getI32Type()), b.getLoc());
  for (Value value : operands.carried) block->addArgument(value.getType(), b.getLoc());
  for (Value value : operands.sliced) {
    NamedTensorType type = tensorType(value);
    block->addArgument(type.withAxes(b.without(type, {axisName})), b.getLoc());
  }
  for (Value value : operands.invariants) block->addArgument(value.getType(), b.getLoc());
  YieldOp::create(b, b.getLoc(), body(b, block->getArguments().drop_front()));
  return op.getResults();
}

} // namespace tessera::test

#endif // TESSERA_TESTS_IR_VECTORPROGRAM_H
