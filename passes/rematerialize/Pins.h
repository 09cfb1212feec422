//===- Pins.h - what the user wants saved or recomputed -------------------===//

#ifndef TESSERA_PASSES_REMATERIALIZE_PINS_H
#define TESSERA_PASSES_REMATERIALIZE_PINS_H

#include "passes/analysis/ValueNames.h"
#include "passes/rematerialize/Policies.h"
#include <set>

namespace tessera {

/// Patterns of names. A unit has the user's names of its ops, and the names under which plans list its results
/// (ValueNames.h), without the word for the op: `h.mlp.up` for "h.mlp.up out".
class PinPatterns {
public:
  /// The names of values in `function` count.
  PinPatterns(mlir::func::FuncOp function, llvm::ArrayRef<std::string> saved, llvm::ArrayRef<std::string> recomputed)
      : names(function), saved(saved), recomputed(recomputed) {}

  Pins pinsOf(const LayerPair &pair);

  /// "h.mlp.up out", as plans list a value.
  std::string nameOf(mlir::Value value) const { return names.nameOf(value); }
  /// `h.mlp.up`: what patterns match of that.
  static std::string pathOf(llvm::StringRef name) { return name.rsplit(' ').first.str(); }

  /// Patterns that matched no unit so far.
  std::vector<std::string> unmatched() const;
  /// A unit that one pattern saves and another one recomputes, as a message; empty if there is none.
  const std::string &getContradiction() const { return contradiction; }
  /// All names that have been seen.
  const std::set<std::string> &getNames() const { return seen; }

private:
  std::vector<std::string> namesOf(const RecomputeUnit &unit) const;
  bool matches(llvm::ArrayRef<std::string> patterns, llvm::ArrayRef<std::string> candidates);

  ValueNames names;
  llvm::ArrayRef<std::string> saved, recomputed;
  std::set<std::string> seen, matched;
  std::string contradiction;
};

} // namespace tessera

#endif // TESSERA_PASSES_REMATERIALIZE_PINS_H
