//===- ContractionOperands.h - addresses of a contraction's elements ------===//
//
// The generated function has one argument: a table with the addresses of each a, each b, the bias of each b, and each c
// (`emitContraction`). Loops count rows and columns over all horizontally fused GEMMs. Only the functions below map
// such an index to the GEMM that it belongs to and to its index there.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H

#include "codegen/cpu/contraction/ContractionPlan.h"
#include "codegen/cpu/contraction/IndexRange.h"

namespace tessera {

class ContractionOperands {
public:
  using Value = mlir::Value;

  ContractionOperands(CodeBuilder &code, const PlannedGemm &gemm);

  /// Loads the addresses of the first fused GEMM; emitted at the function's entry.
  void load(Value table);
  /// From here on a, b and c are those of GEMM `number` of the batch.
  void selectGemm(Value number);

  /// Addresses of elements.
  Value aAt(Value row, Value k);
  Value bAt(Value k, Value column);
  Value biasAt(Value column);
  Value cAt(Value row, Value column);

  /// The index of a row (or column) in its own GEMM.
  Value indexInGemm(const FusedAxis &axis, Value index) { return positionOf(axis, index).index; }
  /// The tile of `width` rows (or columns) from `from` on. It ends where its GEMM or the range ends.
  IndexRange tileFrom(const FusedAxis &axis, Value from, int64_t width, IndexRange range);
  /// Calls `body` for the rows (or columns) of each GEMM in a range, without the padding.
  void forEachGemm(const FusedAxis &axis, IndexRange range, llvm::function_ref<void(IndexRange)> body);

private:
  /// The fused GEMM that has a row or column (null: there is one only), and the index in it.
  struct Position {
    Value gemm, index;
  };
  Position positionOf(const FusedAxis &axis, Value index);
  /// The address of a GEMM's operand: `base` if there is one only, else entry `first` of the table or one after it.
  Value baseOf(Value base, int64_t first, Value gemm);

  struct Addresses {
    Value a, b, bias, c;
  };
  CodeBuilder &code;
  const PlannedGemm &gemm;
  const ContractionGemm &each;
  int64_t firstB, firstBias, firstC; ///< entries of the table; that of the first a is 0
  Value table;
  Addresses loaded, selected;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_CONTRACTIONOPERANDS_H
