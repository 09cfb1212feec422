//===- Values.h - what an expression can mean ------------------------------===//
//
// The elaborator walks the tree once, and each expression becomes one of
// these: a number known at compile time, a tensor in the IR, a function, a
// tuple, or a data source of the training description.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_VALUES_H
#define TESSERA_FRONTEND_VALUES_H

#include "frontend/syntax/Ast.h"
#include "ir/dialect/UnaryFunction.h"
#include <cmath>

namespace tessera {

struct FileScope;

/// A number known at compile time.
struct Number {
  enum class Type { Bool, Int, Float };
  Type type = Type::Int;
  int64_t integer = 0; ///< for Bool and Int
  double real = 0;     ///< for Float

  static Number ofBool(bool value) { return {Type::Bool, value, 0}; }
  static Number ofInt(int64_t value) { return {Type::Int, value, 0}; }
  static Number ofFloat(double value) { return {Type::Float, 0, value}; }

  bool isBool() const { return type == Type::Bool; }
  bool isFloat() const { return type == Type::Float; }
  /// Whether it is a whole number, however it is written.
  bool isWhole() const { return !isFloat() || (std::floor(real) == real && std::fabs(real) < 9e15); }
  int64_t asInteger() const { return isFloat() ? static_cast<int64_t>(real) : integer; }
  double asDouble() const { return isFloat() ? real : static_cast<double>(integer); }
  std::string str() const;
};

/// Whether a number stays one in f32, rather than infinite or none at all.
inline bool isFiniteF32(Number number) { return std::isfinite(static_cast<float>(number.asDouble())); }

/// The op of the IR that an arithmetic operator stands for.
struct ArithmeticOp {
  double (*evaluate)(double lhs, double rhs);
  /// Bounds of integer results.
  std::optional<Interval> (*boundsOf)(Interval lhs, Interval rhs);
  mlir::Value (*build)(GraphBuilder &builder, mlir::Value lhs, mlir::Value rhs);
};
/// For `+`, `-`, `*`, `/`, `//`, `%` and `^`.
const ArithmeticOp &arithmeticOp(ast::BinaryOp op);
/// For the functions `max` and `min`.
const ArithmeticOp &extremumOp(llvm::StringRef name);

/// The predicate of a comparison operator; nothing for other operators.
std::optional<Predicate> predicateOf(ast::BinaryOp op);

// At compile time, by the evaluators of the ops. Nothing for a result that is not a number (division by zero,
// overflow), with `why` set.
std::optional<Number> foldBinary(ast::BinaryOp op, Number lhs, Number rhs, llvm::StringRef &why);
std::optional<Number> foldUnary(const UnaryFunction &function, Number x, llvm::StringRef &why);
/// `int(x)`, rounded toward zero.
std::optional<Number> foldToInteger(Number x, llvm::StringRef &why);

/// `pos[axis] + offset`.
struct Affine {
  std::string axis;
  int64_t offset = 0;
};

/// A value of the IR with what is known about it.
struct Tensor {
  mlir::Value value;
  unsigned level = 0;            ///< the number of repeats around it
  bool closed = false;           ///< computed from positions and numbers only
  std::optional<Interval> range; ///< of integers
  std::optional<Affine> affine;  ///< set if it is a shifted position
  int input = -1;                ///< index of the data field that it is; -1 if it is none

  /// Forgets what holds of a value but not of one computed from it.
  void forgetOrigin() {
    affine.reset();
    input = -1;
  }
  NamedTensorType type() const { return tensorType(value); }
  mlir::Type element() const { return type().getElementType(); }
};

/// An axis as the IR knows it.
struct AxisRef {
  std::string name;
  int64_t size = 0;
  bool operator==(const AxisRef &other) const { return name == other.name; }
};

/// A function of a file or a built-in one (then `declaration` is null), perhaps with its axes given.
struct FunctionValue {
  llvm::StringRef name;
  const ast::Function *declaration = nullptr;
  const FileScope *file = nullptr;
  std::optional<std::vector<AxisRef>> axes;
};

struct Value {
  /// Error: a message has been given; whatever uses the value stays silent.
  enum class Kind { Error, Number, Tensor, Function, Tuple, Data, Text, None };
  Kind kind = Kind::Error;
  Number number;
  Tensor tensor;
  FunctionValue function;
  std::vector<std::pair<std::string, Value>> elements; ///< of a tuple; names may be empty
  unsigned data = 0;
  std::string text;

  Value() = default;
  Value(Number n) : kind(Kind::Number), number(n) {}
  Value(Tensor t) : kind(t.value ? Kind::Tensor : Kind::Error), tensor(std::move(t)) {}
  Value(FunctionValue f) : kind(Kind::Function), function(std::move(f)) {}
  static Value none() { return ofKind(Kind::None); }
  static Value ofKind(Kind kind) {
    Value value;
    value.kind = kind;
    return value;
  }

  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isArithmetic() const { return isNumber() || isTensor(); }
};

/// "a tensor [batch, seq]", "a number", … for messages.
std::string describe(const Value &value);
/// "[batch, seq]".
std::string describeAxes(NamedTensorType type);

} // namespace tessera

#endif // TESSERA_FRONTEND_VALUES_H
