//===- ParameterTable.h - parameters and states of the model ----------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_PARAMETERTABLE_H
#define TESSERA_FRONTEND_ELABORATE_PARAMETERTABLE_H

#include "frontend/elaborate/NameResolver.h"

namespace tessera {

/// A parameter of the model, or a state: what it is said of, and how it begins.
struct Parameter {
  std::string path;
  ast::ParamKind kind = ast::ParamKind::Weight;
  NamedTensorType type;                     ///< with the axes of enclosing repeats
  llvm::SmallVector<llvm::StringRef> order; ///< its axes as declared, those of enclosing repeats in front
  unsigned repeats = 0;                     ///< how many of `order` are those of enclosing repeats
  llvm::StringRef distribution = "";        ///< "normal", "uniform", or empty for a constant
  double low = 0, high = 0;                 ///< constant: low; normal: 0 and deviation; uniform: bounds
  Span declared;
  Span place; ///< `declared`; of a parameter of the library, the call in the user's file that makes it

  /// States are assigned by the model; parameters, all others, are trained.
  bool isState() const { return kind == ast::ParamKind::State; }
};

/// Where a parameter of the library is declared, in a message whose place is `Parameter::place`.
void noteDeclaration(DiagnosticBuilder message, const Parameter &parameter);

/// The parameters and states in the order of their first declaration; every entry finds the same ones.
class ParameterTable : ElaborationComponent {
public:
  ParameterTable(CallStack &calls, EntryBuilder &entry, RegionStack &regions, const Dims &sizes, NameResolver &names,
                 Evaluator &evaluator)
      : ElaborationComponent(calls), entry(entry), regions(regions), sizes(sizes), resolver(names),
        evaluator(evaluator) {}

  /// Declares the names of a statement in the current frame.
  bool declare(const ast::ParamStmt &stmt);
  /// The model's body is expanded once more: paths must differ within an expansion only.
  void beginExpansion() { declaredPaths.clear(); }

  /// The parameter at a level: an argument of the entry, and in each repeat a slice of the stack outside.
  LanguageValue value(const Parameter &parameter, unsigned atLevel);

  const llvm::MapVector<llvm::StringRef, std::unique_ptr<Parameter>> &all() const { return parameters; }
  const Parameter *find(llvm::StringRef path) const {
    auto found = parameters.find(path);
    return found == parameters.end() ? nullptr : found->second.get();
  }
  std::vector<llvm::StringRef> paths() const;
  /// Without states.
  std::vector<llvm::StringRef> trainablePaths() const;

private:
  bool build(const ast::ParamStmt &stmt);
  std::optional<llvm::SmallVector<AxisAttr>> readAxes(const ast::ParamStmt &stmt);
  bool checkIsOfEveryBatch(const ast::ParamStmt &stmt, llvm::StringRef axis);
  bool readInitialValue(const ast::ParamStmt &stmt, Parameter &parameter);
  bool readDistribution(const ast::CallExpr &call, Parameter &parameter);
  bool checkPath(const std::string &path, const ast::Name &name);

  /// Where a parameter is declared, and the calls that lead there, the outermost first.
  struct Declared {
    Span span;
    std::vector<std::pair<Span, llvm::StringRef>> calls;
  };

  EntryBuilder &entry;
  RegionStack &regions;
  const Dims &sizes;
  NameResolver &resolver;
  Evaluator &evaluator;
  llvm::MapVector<llvm::StringRef, std::unique_ptr<Parameter>> parameters;
  llvm::StringMap<Declared> declaredPaths; ///< in this expansion of the model
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_PARAMETERTABLE_H
