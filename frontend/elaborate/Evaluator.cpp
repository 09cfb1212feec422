//===- Evaluator.cpp - what is known at compile time ------------------------===//

#include "frontend/elaborate/Evaluator.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

LanguageValue Evaluator::evalIn(Frame &frame, const ast::Expr &expr) {
  FrameScope scope(calls, frame);
  return eval(expr);
}

std::optional<Number> Evaluator::evalConstant(const ast::Expr &expr, const Twine &what, StringRef otherwise) {
  std::string description = what.str();
  LanguageValue value = eval(expr);
  if (value.isNumber()) return value.number;
  if (value.isTensor()) {
    auto message =
        error(DiagnosticCode::E0219, expr.span, description + " must be known at compile time, got " + describe(value));
    message.help("compute it from numbers, hypers and dims");
    if (!otherwise.empty()) message.help(otherwise);
  } else if (!value.isError()) {
    error(DiagnosticCode::E0205, expr.span, description + " must be a number, true or false, got " + describe(value));
  }
  return std::nullopt;
}
