//===- Settings.h - settings that need no recompilation -------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_SETTINGS_H
#define TESSERA_RUNTIME_TRAIN_SETTINGS_H

#include "runtime/base/Json.h"

namespace tessera::runtime {

/// Training settings by address ("evaluate.every"): those of the model file, overridden by the command line. None
/// affects a shape.
class Settings {
public:
  /// `microBatches` of a batch: `evaluate` works on them, so the manifest counts `evaluate.batches` in them.
  explicit Settings(Json settings, int64_t microBatches = 1)
      : values(std::move(settings)), microBatches(microBatches) {}

  /// Applies "NAME=VALUE", which means the same as for the compiler. Throws a usage Error for an unknown name, with the
  /// nearest known one, and for a value of the wrong kind.
  void set(const std::string &assignment);

  int64_t integer(const std::string &name, int64_t missing) const;
  double real(const std::string &name, double missing) const;
  std::string text(const std::string &name, const std::string &missing) const;
  /// Whether something is due after step `step` that the setting `every` says after how many steps to do; 0: never.
  bool isDue(const std::string &every, int64_t step) const {
    int64_t steps = integer(every, 0);
    return steps > 0 && step % steps == 0;
  }
  bool has(const std::string &group) const { return values.contains(group) && !values[group].is_null(); }
  const Json &json() const { return values; }

private:
  const Json *find(const std::string &name) const;
  Json values;
  int64_t microBatches;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_SETTINGS_H
