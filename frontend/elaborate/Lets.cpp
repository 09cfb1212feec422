//===- Lets.cpp - the lets of files -----------------------------------------===//

#include "frontend/elaborate/Lets.h"

using namespace tessera;
using llvm::StringRef;
using llvm::Twine;

LanguageValue Lets::compute(const FileScope &file, const ast::Definition &definition) {
  Frame frame = Frame::ofFile(file);
  LanguageValue value = evaluator.evalIn(frame, *definition.value);
  if (value.isTensor())
    return failed(DiagnosticCode::E0219, definition.value->span,
                  "a `let` outside functions must be known at compile time, got " + describe(value));
  if (definition.isTuple && !value.isError() && !fitsTuple(definition, value))
    return failed(DiagnosticCode::E0227, definition.value->span,
                  "expected a tuple of " + Twine(definition.names.size()) + " elements, got " + describe(value));
  return value;
}

LanguageValue Lets::find(const FileScope &file, StringRef name, const LetDecl &let) {
  const ast::Definition *definition = let.definition;
  auto known = values.find(definition);
  if (known == values.end()) {
    if (!inProgress.insert(definition).second)
      return failed(DiagnosticCode::E0201, definition->names[0].span, "the value of `" + name + "` depends on itself");
    LanguageValue value = compute(file, *definition);
    inProgress.erase(definition);
    known = values.try_emplace(definition, std::move(value)).first;
  }
  if (definition->isTuple && !known->second.isError()) return known->second.elements[let.element].second;
  return known->second;
}
