//===- Interpreter.cpp - runs tsr functions -------------------------------===//

#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/IterationSpace.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

TensorValue TensorValue::reordered(NamedTensorType to) const {
  if (to.getAxes() == type.getAxes()) {
    TensorValue same = *this;
    same.type = to.withAllocated({});
    return same;
  }
  TensorValue result(to);
  IterationSpace(to.getAxes()).add(result.type).add(type).forEach([&](ArrayRef<int64_t> at) {
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
  if (isFp8(elementType))
    value = std::isnan(value) ? value : std::clamp(value, -largestOf(elementType), largestOf(elementType));
  llvm::APFloat number(value);
  bool losesInfo;
  number.convert(cast<FloatType>(elementType).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

/// A hash of `seed` and `key` in [0, 1): SplitMix64 (Steele, Lea and Flood, 2014) of both.
static double drawFor(uint64_t key, uint64_t seed) {
  uint64_t z = key + (seed + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

std::optional<double> Interpreter::commonDrawFor(Operation &op) const {
  if (rounding != Rounding::Coarse || seed % 2 == 0 || !op.hasTrait<traits::Approximated>()) return std::nullopt;
  return drawFor(llvm::xxh3_64bits(op.getName().getStringRef()), seed);
}

/// One of the two nearest values in a float type with two mantissa bits less; the nearer one is the likelier.
/// Equal values are rounded in one direction, as on a target: their errors add up, where independent ones would cancel.
double Interpreter::roundCoarsely(double value, const llvm::fltSemantics &semantics) {
  constexpr int bitsLess = 2;
  if (value == 0 || !std::isfinite(value)) return value;
  int precision = llvm::APFloat::semanticsPrecision(semantics);
  int exponent = std::max(std::ilogb(value), llvm::APFloat::semanticsMinExponent(semantics));
  double scaled = std::ldexp(value, precision - bitsLess - 1 - exponent), below = std::floor(scaled);
  bool up = commonDraw.value_or(drawFor(llvm::bit_cast<uint64_t>(value), seed)) < scaled - below;
  double rounded = std::ldexp(below + up, exponent - (precision - bitsLess - 1));
  double largest = llvm::APFloat::getLargest(semantics).convertToDouble();
  return std::abs(rounded) > largest ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

double Interpreter::roundPartial(double value) {
  return rounding == Rounding::Coarse ? roundCoarsely(value, llvm::APFloat::IEEEsingle()) : static_cast<float>(value);
}

void Interpreter::round(TensorValue &value) {
  auto type = dyn_cast<FloatType>(value.type.getElementType());
  if (type && (rounding == Rounding::Double || type.isF64())) return;
  if (type && rounding == Rounding::Coarse)
    for (double &number : value.data) number = roundCoarsely(number, type.getFloatSemantics());
  else
    for (double &number : value.data) number = roundTo(number, value.type.getElementType());
}

const TensorValue &Interpreter::atStop(const TensorValue &operand) {
  if (!stops) return operand;
  if (!stops->isReplayed) return stops->values.emplace_back(operand);
  assert(stops->next < stops->values.size() && "expected the run that was recorded");
  return stops->values[stops->next++];
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
  if (rounding == Rounding::Coarse)
    for (BlockArgument argument : block.getArguments()) round(values[argument]);
  auto valuesOf = [&](ValueRange range) { return llvm::map_to_vector(range, [&](Value v) { return values.at(v); }); };

  for (Operation &op : block.without_terminator()) {
    auto evaluated = dyn_cast<EvaluateOpInterface>(op);
    if (!evaluated) return op.emitOpError("cannot be interpreted: a pass must replace it first");
    auto results =
        llvm::map_to_vector(op.getResultTypes(), [](Type t) { return TensorValue(cast<NamedTensorType>(t)); });
    commonDraw = commonDrawFor(op);
    if (failed(evaluated.evaluate(valuesOf(op.getOperands()), results, *this))) return failure();
    commonDraw = commonDrawFor(op); // a region's ops had theirs
    for (auto [result, value] : llvm::zip(op.getResults(), results)) {
      round(value);
      values[result] = std::move(value);
    }
    commonDraw.reset();
  }
  return valuesOf(block.getTerminator()->getOperands());
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

void tessera::evaluateElementwise(ElementwiseOpInterface op, ArrayRef<TensorValue> operands,
                                  MutableArrayRef<TensorValue> results) {
  TensorValue &result = results[0];
  IterationSpace space(result.type.getAxes());
  space.add(result.type);
  for (const TensorValue &operand : operands) space.add(operand.type);
  SmallVector<double> point(operands.size());
  space.forEach([&](ArrayRef<int64_t> at) {
    for (size_t i = 0; i < operands.size(); ++i) point[i] = operands[i].data[at[i + 1]];
    result.data[at[0]] = op.applyScalar(point);
  });
}
