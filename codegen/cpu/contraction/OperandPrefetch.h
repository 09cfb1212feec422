//===- OperandPrefetch.h - what the next block of a contraction reads -----===//
//
// The regions that will be packed, or read in place, after the block that is being multiplied. Of horizontally fused
// GEMMs only the first operand in a region counts.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPREFETCH_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPREFETCH_H

#include "codegen/cpu/contraction/OperandPanels.h"
#include "codegen/cpu/contraction/Prefetch.h"

namespace tessera {

class OperandPrefetch {
public:
  using Value = mlir::Value;

  OperandPrefetch(CodeBuilder &code, const ContractionPlan &plan, ContractionOperands &operands)
      : code(code), plan(plan), operands(operands) {}

  /// `count` rows of a, at most a block, from `row` on.
  PrefetchRegion rowsOfA(Value row, Value count, DepthBlock block);
  /// `count` columns of b, at most `most`, from `column` on.
  PrefetchRegion columnsOfB(Value column, Value count, int64_t most, DepthBlock block);
  /// The panel of b after the one at `column`; after the last one, the first panel of the next block of K.
  PrefetchRegion panelAfter(Value column, IndexRange columns, DepthBlock block);
  /// The block of b after these columns at `k`: of the same columns in the next block of K; after the last k, of the
  /// next columns, which end before `lastColumn`.
  PrefetchRegion blockOfBAfter(IndexRange columns, Value k, Value lastColumn);

private:
  /// How an operand is stored: strides in elements from line to line (a row of a, a column of b) and from k to k.
  struct Storage {
    const FusedAxis &lines;
    int64_t line, k, elementBytes;
  };
  PrefetchRegion region(const Storage &storage, Value start, Value line, Value count, int64_t most, Value depth);

  CodeBuilder &code;
  const ContractionPlan &plan;
  ContractionOperands &operands;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPREFETCH_H
