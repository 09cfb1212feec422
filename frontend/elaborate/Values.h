//===- Values.h - what an expression can mean ------------------------------===//
//
// The elaborator walks the tree once, and each expression becomes one of
// these: a number known at compile time, a tensor in the IR, a function, a
// tuple, or a data source of the training description.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_VALUES_H
#define TESSERA_FRONTEND_ELABORATE_VALUES_H

#include "frontend/elaborate/FloatRange.h"
#include "frontend/syntax/Ast.h"
#include "ir/dialect/BinaryFunction.h"
#include "ir/dialect/UnaryFunction.h"
#include <cmath>

namespace tessera {

struct FileScope;
struct Parameter;

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

/// The op of an arithmetic operator.
/// For `+`, `-`, `*`, `/`, `//`, `%` and `^`.
const BinaryFunction &arithmeticOp(ast::BinaryOp op);

/// The predicate of a comparison operator; nothing for other operators.
std::optional<Predicate> predicateOf(ast::BinaryOp op);

// At compile time, by the evaluators of the ops. Nothing for a result that is not a number (division by zero,
// overflow), with `why` set.
std::optional<Number> foldBinary(ast::BinaryOp op, Number lhs, Number rhs, llvm::StringRef &why);
std::optional<Number> foldUnary(const UnaryFunction &function, Number x, llvm::StringRef &why);
/// Of a function that is called by its name. A result that is one of the operands has its type, as that of `max`.
std::optional<Number> foldCall(const BinaryFunction &function, Number lhs, Number rhs, llvm::StringRef &why);
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
  unsigned level = 0;                   ///< how many repeats it is inside of
  bool isPositional = false;            ///< computed from positions and constants only
  std::optional<Interval> range;        ///< of integers
  std::optional<FloatRange> floatRange; ///< of floats
  std::optional<Affine> affine;         ///< set if it is a shifted position
  int input = -1;                       ///< index of the data field that it is; -1 if it is none
  const Parameter *state = nullptr;     ///< in a scope: the state that the name declares, to which it can be assigned

  /// Forgets what holds of a value but not of one computed from it.
  void forgetOrigin() {
    affine.reset();
    input = -1;
  }
  /// Forgets bounds, where other elements are added.
  void forgetBounds() {
    range.reset();
    floatRange.reset();
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

/// The value of an expression of the language. `mlir::Value` is a value of the IR.
struct LanguageValue {
  /// Error: a message has been reported; uses of the value report none.
  enum class Kind { Error, Number, Tensor, Function, Tuple, Data, Text, None };
  Kind kind = Kind::Error;
  Number number;
  Tensor tensor;
  FunctionValue function;
  std::vector<std::pair<std::string, LanguageValue>> elements; ///< of a tuple; names may be empty
  unsigned data = 0;
  std::string text;

  LanguageValue() = default;
  LanguageValue(Number n) : kind(Kind::Number), number(n) {}
  LanguageValue(Tensor t) : kind(t.value ? Kind::Tensor : Kind::Error), tensor(std::move(t)) {}
  LanguageValue(FunctionValue f) : kind(Kind::Function), function(std::move(f)) {}
  static LanguageValue none() { return ofKind(Kind::None); }
  static LanguageValue ofKind(Kind kind) {
    LanguageValue value;
    value.kind = kind;
    return value;
  }

  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isTensor() const { return kind == Kind::Tensor; }
  bool isArithmetic() const { return isNumber() || isTensor(); }
};

/// What is known of integers and bools that fit 32 bits; nothing for floats.
std::optional<Interval> integerRangeOf(const LanguageValue &value);
/// The bounds of a value that is converted to f32.
FloatRange floatRangeOf(const LanguageValue &value);

/// "a tensor [batch, seq]", "a number", … for messages.
std::string describe(const LanguageValue &value);
/// "[batch, seq]".
std::string describeAxes(NamedTensorType type);

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_VALUES_H
