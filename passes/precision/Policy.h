//===- Policy.h - which ops gain from reduced precision -------------------===//

#ifndef TESSERA_PASSES_PRECISION_POLICY_H
#define TESSERA_PASSES_PRECISION_POLICY_H

#include "ir/dialect/Reshape.h"
#include <optional>

namespace tessera {

/// In which type an op computes.
enum class Arithmetic {
  Low,   ///< low-precision products, accumulated in f32, as matrix units compute them
  Full,  ///< in f32, in registers
  Moves, ///< computes nothing: elements pass through unchanged, or are constants
};

/// The arithmetic of an op that `attrs::keep` does not exempt.
Arithmetic arithmeticOf(mlir::Operation *op);

/// Whether an op only moves elements of its first operand: a reshape, a slice or a pad. Operand and result then have
/// the same element type.
bool movesElements(mlir::Operation *op);

/// How many operands, the first ones, an op with low-precision arithmetic reads in the low-precision type.
unsigned lowOperands(mlir::Operation *op);

/// What the settings `compute(…)` of a module ask for.
struct ComputeSettings {
  mlir::Type low;    ///< of contractions and of stored values; null: everything is f32
  bool tf32 = false; ///< f32 contractions may round their operands to tf32, on hardware that supports it
  bool fp8 = false;  ///< contractions with weight matrices have fp8 operands (Fp8Plan.h)
  /// Factor of the loss, so that gradients do not underflow; absent: none. If `isDynamic`, the initial value.
  std::optional<double> lossScale;
  bool isDynamic = false;
  bool hasLowPrecisionWeights = false; ///< parameters of the kind `weight` are bf16, without a master copy

  static ComputeSettings of(mlir::ModuleOp module);
};

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_POLICY_H
