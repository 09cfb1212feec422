//===- Hypers.h - hyperparameters, presets, --set ---------------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_HYPERS_H
#define TESSERA_FRONTEND_ELABORATE_HYPERS_H

#include "frontend/elaborate/Evaluator.h"
#include "frontend/elaborate/FrontendOptions.h"
#include "frontend/elaborate/SettingOverrides.h"

namespace tessera {

/// The hypers of the program with their values: the defaults, then presets, then `--set`.
class Hypers : ElaborationComponent {
public:
  Hypers(CallStack &calls, Evaluator &evaluator) : ElaborationComponent(calls), evaluator(evaluator) {}

  /// Computes all values, and sorts the `--set` options that address settings into `settings`.
  void resolve(const FrontendOptions &options, SettingOverrides &settings);
  /// The value of a hyper; nothing until it is resolved.
  std::optional<Number> find(llvm::StringRef name) const {
    auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }

private:
  void sortSets(llvm::ArrayRef<std::string> sets, SettingOverrides &settings);
  void refuseDim(llvm::StringRef name, const DimDecl &dim);
  void hypersOf(const ast::Expr &expr, std::vector<llvm::StringRef> &hypers, llvm::StringSet<> &seen) const;
  std::vector<const ast::Preset *> findPresets(llvm::ArrayRef<std::string> names);
  void applyPresets(llvm::StringRef name, const HyperDecl &decl, llvm::ArrayRef<const ast::Preset *> chosen);
  void applySet(llvm::StringRef name, llvm::StringRef text, const ast::Bind &bind);
  std::optional<Number> parseSet(llvm::StringRef name, llvm::StringRef text);
  void checkPresetNames();

  Evaluator &evaluator;
  llvm::StringMap<Number> values;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_HYPERS_H
