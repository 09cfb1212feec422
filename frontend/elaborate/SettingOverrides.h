//===- SettingOverrides.h - settings on the command line --------------------===//

#ifndef TESSERA_FRONTEND_ELABORATE_SETTINGOVERRIDES_H
#define TESSERA_FRONTEND_ELABORATE_SETTINGOVERRIDES_H

#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {

/// The `--set` options that address settings and data sources, such as `evaluate.every=100`, and which of them found
/// their setting.
class SettingOverrides {
public:
  explicit SettingOverrides(DiagnosticEngine &diagnostics) : diagnostics(diagnostics) {}

  struct Override {
    std::string key, text;
    llvm::StringRef group() const { return llvm::StringRef(key).split('.').first; }
    llvm::StringRef name() const { return llvm::StringRef(key).split('.').second; }
  };

  /// Of several with the same key, the last wins.
  void add(llvm::StringRef key, llvm::StringRef text) {
    llvm::erase_if(overrides, [&](const Override &earlier) { return earlier.key == key; });
    overrides.push_back({key.str(), text.str()});
  }
  llvm::ArrayRef<Override> all() const { return overrides; }
  bool isUsed(const Override &override) const { return used.contains(override.key); }
  /// Marks the option as used and parses its value; null after errors.
  ast::ExprPtr use(const Override &override) {
    used.insert(override.key);
    return parseExpression(diagnostics.sources().add(override.text, "<--set " + override.key + ">"), diagnostics);
  }

private:
  DiagnosticEngine &diagnostics;
  std::vector<Override> overrides;
  llvm::StringSet<> used;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATE_SETTINGOVERRIDES_H
