//===- Lets.h - the lets of files -------------------------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_LETS_H
#define TESSERA_FRONTEND_ELABORATE_LETS_H

#include "frontend/elaborate/Evaluator.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

/// The lets outside functions, which are known at compile time.
class Lets : ElaborationComponent {
public:
  Lets(CallStack &calls, Evaluator &evaluator) : ElaborationComponent(calls), evaluator(evaluator) {}

  /// Forgets the values of the entry before: they may depend on sizes and on `training`.
  void beginEntry() { values.clear(); }

  LanguageValue find(const FileScope &file, llvm::StringRef name, const LetDecl &let);

private:
  LanguageValue compute(const FileScope &file, const ast::Definition &definition);

  Evaluator &evaluator;
  llvm::DenseMap<const ast::Definition *, LanguageValue> values;
  llvm::DenseSet<const ast::Definition *> inProgress;
};

/// Whether the value can be taken apart into the names of the definition.
inline bool fitsTuple(const ast::Definition &definition, const LanguageValue &value) {
  return value.kind == LanguageValue::Kind::Tuple && value.elements.size() == definition.names.size();
}

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_LETS_H
