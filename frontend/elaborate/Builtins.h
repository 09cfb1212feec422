//===- Builtins.h - functions that are not written in the language ----------===//

#ifndef TESSERA_FRONTEND_BUILTINS_H
#define TESSERA_FRONTEND_BUILTINS_H

#include "frontend/elaborate/Reductions.h"

namespace tessera {

class Builtins : ElaborationPart {
public:
  Builtins(CallStack &calls, EntryBuilder &entry, RegionStack &regions, Names &names, Operators &operators,
           Reductions &reductions, Evaluator &evaluator)
      : ElaborationPart(calls), Entry(entry), Regions(regions), Scope(names), Ops(operators),
        AxisReductions(reductions), Eval(evaluator) {}

  Value call(llvm::StringRef name, const ast::CallExpr &call, const std::optional<std::vector<AxisRef>> &axes);

private:
  std::optional<std::vector<Value>> evalArguments(const ast::CallExpr &call, unsigned min, unsigned max);
  std::optional<std::vector<Value>> evalOperands(llvm::StringRef name, const ast::CallExpr &call, unsigned count);
  Value unary(llvm::StringRef name, const ast::CallExpr &call);
  Value cast(llvm::StringRef name, const ast::CallExpr &call);
  Value extremum(llvm::StringRef name, const ast::CallExpr &call);
  Value where(const ast::CallExpr &call);
  Value over(const ast::CallExpr &call);
  Value random(llvm::StringRef name, const ast::CallExpr &call);

  EntryBuilder &Entry;
  RegionStack &Regions;
  Names &Scope;
  Operators &Ops;
  Reductions &AxisReductions;
  Evaluator &Eval;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_BUILTINS_H
