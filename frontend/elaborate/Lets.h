//===- Lets.h - the lets of files -------------------------------------------===//

#ifndef TESSERA_FRONTEND_LETS_H
#define TESSERA_FRONTEND_LETS_H

#include "frontend/elaborate/Evaluator.h"
#include "llvm/ADT/DenseSet.h"

namespace tessera {

/// The lets outside functions, which are known at compile time.
class Lets : ElaborationPart {
public:
  Lets(CallStack &calls, Evaluator &evaluator) : ElaborationPart(calls), Eval(evaluator) {}

  /// Forgets the values of the entry before: they may depend on sizes and on `training`.
  void beginEntry() { Values.clear(); }

  Value find(const FileScope &file, llvm::StringRef name, const LetDecl &let);

private:
  Value compute(const FileScope &file, const ast::Definition &definition);

  Evaluator &Eval;
  llvm::DenseMap<const ast::Definition *, Value> Values;
  llvm::DenseSet<const ast::Definition *> InProgress;
};

/// Whether the value can be taken apart into the names of the definition.
inline bool fitsTuple(const ast::Definition &definition, const Value &value) {
  return value.kind == Value::Kind::Tuple && value.elements.size() == definition.names.size();
}

} // namespace tessera

#endif // TESSERA_FRONTEND_LETS_H
