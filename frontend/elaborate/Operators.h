//===- Operators.h - arithmetic, comparison, logic --------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_OPERATORS_H
#define TESSERA_FRONTEND_ELABORATE_OPERATORS_H

#include "frontend/elaborate/RegionStack.h"

namespace tessera {

/// The operators of the language on values, and the rules for types and axes of operands.
class Operators : ElaborationComponent {
public:
  Operators(CallStack &calls, RegionStack &regions) : ElaborationComponent(calls), regions(regions) {}

  LanguageValue unary(const ast::UnaryExpr &expr, const LanguageValue &operand);
  LanguageValue binary(ast::BinaryOp op, Span opSpan, Span lhsSpan, Span rhsSpan, const LanguageValue &a,
                       const LanguageValue &b);

  /// Whether a result may have these operands' axes (docs/language.md: "No silent outer products"); reports why not.
  bool checkAxes(llvm::ArrayRef<std::pair<const LanguageValue *, Span>> operands, llvm::StringRef what);
  /// Whether the axes that both have are of one size; reports the one that is not.
  bool checkSameSizes(const Tensor &a, const Tensor &b, Span span);
  /// The element type that all values can take: bool < int < float.
  mlir::Type commonType(llvm::ArrayRef<const LanguageValue *> values, bool isFloat = false);
  /// The value in the IR, converted to an element type.
  mlir::Value materialize(const LanguageValue &value, mlir::Type element);
  /// The number as a scalar tensor of the current level.
  Tensor materializeScalar(const LanguageValue &number);

private:
  mlir::Value buildArithmetic(ast::BinaryOp op, const LanguageValue &a, const LanguageValue &b);
  mlir::Value buildPower(const LanguageValue &a, const LanguageValue &b);

  RegionStack &regions;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_OPERATORS_H
