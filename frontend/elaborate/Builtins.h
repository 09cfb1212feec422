//===- Builtins.h - functions that are not written in the language ----------===//

#ifndef TESSERA_FRONTEND_ELABORATE_BUILTINS_H
#define TESSERA_FRONTEND_ELABORATE_BUILTINS_H

#include "frontend/elaborate/Reductions.h"

namespace tessera {

class Builtins : ElaborationComponent {
public:
  Builtins(CallStack &calls, EntryBuilder &entry, RegionStack &regions, NameResolver &names, Operators &operators,
           Reductions &reductions, Evaluator &evaluator)
      : ElaborationComponent(calls), entry(entry), regions(regions), resolver(names), ops(operators),
        axisReductions(reductions), evaluator(evaluator) {}

  LanguageValue call(llvm::StringRef name, const ast::CallExpr &call, const std::optional<std::vector<AxisRef>> &axes);

private:
  std::optional<std::vector<LanguageValue>> evalArguments(const ast::CallExpr &call, unsigned min, unsigned max);
  std::optional<std::vector<LanguageValue>> evalOperands(llvm::StringRef name, const ast::CallExpr &call,
                                                         unsigned count);
  LanguageValue unary(const UnaryFunction &function, const ast::CallExpr &call);
  LanguageValue cast(llvm::StringRef name, const ast::CallExpr &call);
  LanguageValue binary(const BinaryFunction &function, const ast::CallExpr &call);
  LanguageValue combine(const BinaryFunction &function, const LanguageValue &a, const LanguageValue &b, Span span);
  LanguageValue clamp(const ast::CallExpr &call);
  LanguageValue where(const ast::CallExpr &call);
  LanguageValue stop(const ast::CallExpr &call);
  LanguageValue over(const ast::CallExpr &call);
  LanguageValue random(llvm::StringRef name, const ast::CallExpr &call);

  EntryBuilder &entry;
  RegionStack &regions;
  NameResolver &resolver;
  Operators &ops;
  Reductions &axisReductions;
  Evaluator &evaluator;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_BUILTINS_H
