//===- TrainingSettings.h - settings of the training description ------------===//

#ifndef TESSERA_FRONTEND_TRAINING_TRAININGSETTINGS_H
#define TESSERA_FRONTEND_TRAINING_TRAININGSETTINGS_H

#include "frontend/elaborate/Elaboration.h"

namespace tessera {

/// Where the value of a setting comes from: the model file or `--set`.
struct Setting {
  std::string group, name;
  LanguageValue value;
  Span span;
};

/// Reads the settings. Each is a call, so it has an address: `evaluate(every = 250)` is `evaluate.every`, and
/// `--set evaluate.every=100` overrides it.
class TrainingSettings : ElaborationComponent {
public:
  TrainingSettings(Elaboration &elaboration, SettingOverrides &overrides)
      : ElaborationComponent(elaboration.calls), elaboration(elaboration), overrides(overrides) {}

  /// Reads the settings, then adds those that only `--set` names.
  void read();
  const Setting *find(llvm::StringRef group, llvm::StringRef name) const;
  /// The value of an addressed argument, and where it stands: what `--set` says, or else the expression.
  std::pair<LanguageValue, Span> valueOf(llvm::StringRef group, llvm::StringRef name, const ast::Expr &value);
  /// What `--set` reaches: GROUP.NAME.
  static std::vector<std::string> addresses();
  /// Whatever is listed to be computed in f32 must exist: a misspelled name would change results silently.
  void checkFloat32Names();
  /// What `save(best = …)` names must be a loss, or a metric with its direction.
  void checkGoal(llvm::ArrayRef<LoggedScalar> logs) const;
  /// The settings that the runtime reads.
  mlir::DictionaryAttr attribute() const;

private:
  void readSetting(const ast::CallExpr &call);
  void readArgument(llvm::StringRef group, const ast::Argument &arg, bool isFirst);
  void add(llvm::StringRef group, llvm::StringRef name, const ast::Expr &value);
  bool check(llvm::StringRef group, llvm::StringRef name, const LanguageValue &value, Span span);
  void readPrecision();

  Elaboration &elaboration;
  SettingOverrides &overrides;
  std::vector<Setting> settings;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_TRAINING_TRAININGSETTINGS_H
