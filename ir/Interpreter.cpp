//===- Interpreter.cpp - runs tsr functions -------------------------------===//

#include "ir/Interpreter.h"
#include "ir/IterationSpace.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TensorValue TensorValue::reordered(NamedTensorType to) const {
  if (to.getAxes() == type.getAxes()) {
    TensorValue same = *this;
    same.type = to;
    return same;
  }
  TensorValue result(to);
  IterationSpace(to.getAxes()).add(to).add(type).forEach([&](ArrayRef<int64_t> at) {
    result.data[at[0]] = data[at[1]];
  });
  return result;
}

/// The number wrapped to an integer of `bits` bits; what is not finite becomes 0.
static double wrap(double value, unsigned bits) {
  if (!std::isfinite(value)) return 0;
  if (std::abs(value) < 0x1p31) return std::trunc(value);
  double range = std::ldexp(1.0, bits);
  double low = value - std::floor(value / range) * range;
  return low >= range / 2 ? low - range : low;
}

double tessera::roundTo(double value, Type elementType) {
  if (elementType.isF64()) return value;
  if (elementType.isF32()) return static_cast<float>(value);
  if (elementType.isInteger(1)) return value != 0;
  if (auto integer = dyn_cast<IntegerType>(elementType)) return wrap(value, integer.getWidth());
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(elementType).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// One of the two neighbours of a number, each as probable as it is near. What the type holds exactly stays as it is.
double Interpreter::roundAtRandom(double value, Type floatType) {
  double nearest = roundTo(value, floatType), error = value - nearest;
  if (error == 0 || !std::isfinite(error) || floatType.isF64()) return nearest;
  // Far enough to round to the other neighbour.
  double other = nearest;
  for (double step = error; other == nearest; step *= 2) other = roundTo(nearest + 1.5 * step, floatType);
  return std::generate_canonical<double, 53>(random) * std::abs(other - nearest) < std::abs(error) ? other : nearest;
}

void Interpreter::round(TensorValue &value) {
  Type type = value.type.getElementType();
  if (isa<FloatType>(type) && rounding == Rounding::Double) return;
  bool isRandom = isa<FloatType>(type) && rounding == Rounding::Random;
  for (double &number : value.data) number = isRandom ? roundAtRandom(number, type) : roundTo(number, type);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<TensorValue>> Interpreter::run(func::FuncOp function, ArrayRef<TensorValue> arguments) {
  if (function.isExternal()) return function.emitOpError("has no body to interpret");
  return runBlock(function.getBody().front(), arguments);
}

FailureOr<SmallVector<TensorValue>> Interpreter::runBlock(Block &block, ArrayRef<TensorValue> arguments) {
  if (block.getNumArguments() != arguments.size())
    return block.getParentOp()->emitOpError("expected ")
           << block.getNumArguments() << " arguments, got " << arguments.size();
  llvm::DenseMap<Value, TensorValue> values;
  for (auto [argument, value] : llvm::zip(block.getArguments(), arguments))
    values[argument] = value.reordered(tensorType(argument));
  auto valuesOf = [&](ValueRange range) { return llvm::map_to_vector(range, [&](Value v) { return values.at(v); }); };

  for (Operation &op : block.without_terminator()) {
    auto evaluated = dyn_cast<EvaluateOpInterface>(op);
    if (!evaluated) return op.emitOpError("cannot be interpreted: a pass must write it out first");
    auto results =
        llvm::map_to_vector(op.getResultTypes(), [](Type t) { return TensorValue(cast<NamedTensorType>(t)); });
    if (failed(evaluated.evaluate(valuesOf(op.getOperands()), results, *this))) return failure();
    for (auto [result, value] : llvm::zip(op.getResults(), results)) {
      round(value);
      values[result] = std::move(value);
    }
  }
  return valuesOf(block.getTerminator()->getOperands());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void tessera::evaluateElementwise(ElementwiseOpInterface op, ArrayRef<TensorValue> operands, TensorValue &result) {
  IterationSpace space(result.type.getAxes());
  space.add(result.type);
  for (const TensorValue &operand : operands) space.add(operand.type);
  SmallVector<double> point(operands.size());
  space.forEach([&](ArrayRef<int64_t> at) {
    for (size_t i = 0; i < operands.size(); ++i) point[i] = operands[i].data[at[i + 1]];
    result.data[at[0]] = op.applyScalar(point);
  });
}
