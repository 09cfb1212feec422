//===- Interpreter.h - the reference interpreter --------------------------===//
//
// A plain evaluator of tsr IR, written to be read: the oracle that every pass
// and the code generator are compared with. It sees axes, never layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_INTERPRETER_INTERPRETER_H
#define TESSERA_IR_INTERPRETER_INTERPRETER_H

#include "ir/dialect/Tsr.h"

namespace tessera {

/// A tensor with its elements, row-major in the order of the type's axes. Its type is dense, since allocated sizes say
/// nothing about values. Integers and booleans are held as doubles too (exact up to 2^53).
struct TensorValue {
  NamedTensorType type;
  std::vector<double> data;

  TensorValue() = default;
  explicit TensorValue(NamedTensorType type) : type(type.withAllocated({})), data(type.getNumElements(), 0.0) {}
  /// The same elements in the axis order of `to`, which has the same axes in some order.
  TensorValue reordered(NamedTensorType to) const;
};

/// How results are rounded.
enum class Rounding {
  Double, ///< every float is computed and held in f64
  Types,  ///< every result is rounded to its element type
  Coarse, ///< arguments and results are held in a type with two mantissa bits less, rounded up or down at random:
          ///< samples of errors four times those of the type. Equal values are rounded in one direction, as on a
          ///< target. With an odd seed the rounding errors of all results of an approximated function (exp, tanh …)
          ///< are correlated, as those of a target's approximation may be
};

/// What `tsr.stop` returns, in the order of execution. Differences of a function must not see these values change: one
/// run records them, others replay them.
struct StopTape {
  std::vector<TensorValue> values;
  bool isReplayed = false;
  size_t next = 0; ///< to be replayed
};

class Interpreter;
class RankExchange;

/// Rounds what a sum or a composite computes on the way to its result: to f32 for types up to f32, as all targets do.
struct PartialRounding {
  Interpreter *interpreter = nullptr; ///< null: nothing is rounded
  double operator()(double value) const;
};

/// `value` as the element type holds it: floats round to nearest, integers wrap, booleans are 0 or 1.
double roundTo(double value, mlir::Type elementType);

/// Runs functions and blocks of a module.
class Interpreter {
public:
  /// `seed` is that of random rounding.
  explicit Interpreter(Rounding rounding = Rounding::Double, uint64_t seed = 0) : rounding(rounding), seed(seed) {}

  /// Runs a function on arguments whose types match (axis order may differ). Returns one value a result.
  llvm::FailureOr<llvm::SmallVector<TensorValue>> run(mlir::func::FuncOp function,
                                                      llvm::ArrayRef<TensorValue> arguments);

  /// Runs the ops of a block, which reads nothing from outside, and returns the operands of its terminator. Regions of
  /// structure ops come back here. An op without meaning to the interpreter (gradient, clip, update) is an error.
  llvm::FailureOr<llvm::SmallVector<TensorValue>> runBlock(mlir::Block &block, llvm::ArrayRef<TensorValue> arguments);

  /// Rounds the elements to the element type, if this interpreter does so.
  void round(TensorValue &value);

  /// How partial results of an op on this element type are rounded.
  PartialRounding partialRounding(mlir::Type elementType) {
    return {rounding != Rounding::Double && !elementType.isF64() ? this : nullptr};
  }
  double roundPartial(double value);

  /// Records or replays what `tsr.stop` returns, from the next run on; null: neither.
  void setStops(StopTape *tape) { stops = tape; }
  /// What a `tsr.stop` of this operand returns.
  const TensorValue &atStop(const TensorValue &operand);

  /// How a rank of several reaches the others (Lockstep.h); null: there are none.
  void setExchange(RankExchange *to) { ranks = to; }
  RankExchange *getExchange() const { return ranks; }

private:
  /// The draw for all results of an op, if their rounding errors are correlated.
  std::optional<double> commonDrawFor(mlir::Operation &op) const;
  double roundCoarsely(double value, const llvm::fltSemantics &semantics);

  Rounding rounding;
  uint64_t seed;
  StopTape *stops = nullptr;
  RankExchange *ranks = nullptr;
  std::optional<double> commonDraw; ///< for all results of the current op, if their rounding errors are correlated
};

inline double PartialRounding::operator()(double value) const {
  return interpreter ? interpreter->roundPartial(value) : value;
}

} // namespace tessera

#endif // TESSERA_IR_INTERPRETER_INTERPRETER_H
