//===- Policy.h - which ops gain from a low type ----------------------------===//

#ifndef TESSERA_PASSES_PRECISION_POLICY_H
#define TESSERA_PASSES_PRECISION_POLICY_H

#include "ir/dialect/Tsr.h"
#include <optional>

namespace tessera {

/// In which type an op computes.
enum class Arithmetic {
  Low,   ///< products of low numbers, added up in f32: what matrix units are fast at
  Full,  ///< in f32, in registers
  Moves, ///< nothing is computed: numbers go through as they are, or are known
};

/// What an op does if it is not kept in f32 (`attrs::keep`).
Arithmetic arithmeticOf(mlir::Operation *op);

/// Whether the op's result is the operand's numbers in another shape: one value, as far as types go.
bool isReshape(mlir::Operation *op);

/// Operands that an op with low arithmetic takes in the low type; the first ones, as many as this.
unsigned lowOperands(mlir::Operation *op);

/// Whether an op tells numbers apart that a low type does not, when they are large: a function that grows like an exponential, or
/// is as steep.
bool amplifiesRounding(mlir::Operation *op);

/// What the settings `compute(…)` of a module ask for.
struct ComputeSettings {
  mlir::Type low;    ///< of products and of what lies in memory; null: everything is f32
  bool tf32 = false; ///< contractions of f32 may round their operands to tf32, on machines that have it
  bool fp8 = false;  ///< products with matrices of weights are of numbers of eight bits (Fp8Plan.h)
  /// Factor of the loss, for gradients that the low type would round to zero; absent: none. Where `isDynamic` it is where the
  /// search for the right one starts.
  std::optional<double> lossScale;
  bool isDynamic = false;
  bool hasLowWeights = false; ///< parameters of the kind `weight` are bf16, without a master copy

  static ComputeSettings of(mlir::ModuleOp module);
};

} // namespace tessera

#endif // TESSERA_PASSES_PRECISION_POLICY_H
