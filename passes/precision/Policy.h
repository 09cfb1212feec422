//===- Policy.h - which ops gain from reduced precision -------------------===//

#ifndef TESSERA_PASSES_PRECISION_POLICY_H
#define TESSERA_PASSES_PRECISION_POLICY_H

#include "ir/dialect/Reshape.h"
#include <optional>

namespace tessera {

/// In which type an op computes.
enum class Arithmetic {
  Reduced, ///< multiplies low-precision elements and accumulates in f32, as matrix units do
  Full,    ///< in f32, in registers
  None,    ///< elements pass through unchanged, or are constants
};

/// The arithmetic of an op that `tsr.precision` does not exempt.
Arithmetic arithmeticOf(mlir::Operation *op);

/// Whether an op only moves elements of its first operand: a reshape, a slice or a pad. Operand and result then have
/// the same element type.
bool movesElements(mlir::Operation *op);

/// How many operands, the first ones, an op with arithmetic in reduced precision multiplies; 0 for other ops.
unsigned numFactors(mlir::Operation *op);

/// What the settings `compute(…)` of a module ask for.
struct ComputeSettings {
  mlir::Type reducedType; ///< of contractions and of stored values; null: everything is f32
  bool tf32 = false;      ///< f32 contractions may round their operands to tf32, on hardware that supports it
  bool fp8 = false;       ///< contractions with weight matrices have fp8 operands (Fp8Plan.h)
  /// Factor of the loss, so that gradients do not underflow; absent: none. If `isDynamic`, the initial value.
  std::optional<double> lossScale;
  bool isDynamic = false;
  bool reducesWeights = false; ///< parameters of the kind `weight` are bf16, without a master copy

  static ComputeSettings of(mlir::ModuleOp module);
};

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_POLICY_H
