//===- OperandPanels.h - packed blocks of a contraction's operands --------===//
//
// Copies blocks of a and b into panels in the scratch memory, where the plan packs them, and says where a micro-kernel
// reads: in a panel, or in the operand itself.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPANELS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPANELS_H

#include "codegen/cpu/contraction/ContractionOperands.h"

namespace tessera {

/// A block along K: `depth` elements of each row of a and of each column of b, from `k` on.
struct DepthBlock {
  mlir::Value k, depth;
};

/// The block from `k` on; its depth is 0 beyond the last k.
DepthBlock depthBlockAt(CodeBuilder &code, const ContractionPlan &plan, mlir::Value k);

class OperandPanels {
public:
  using Value = mlir::Value;

  /// Emits the functions that pack, if there are none yet.
  OperandPanels(CodeBuilder &code, const ContractionPlan &plan, ContractionOperands &operands,
                MatrixFunctions &functions);

  void setScratch(Value scratch);
  /// Strides with which a micro-kernel reads the operands.
  MicroKernelStrides strides() const;

  /// Packs rows of a as consecutive panels.
  void packRows(IndexRange rows, DepthBlock block);
  /// Packs `count` columns of b, from `column` on, as consecutive panels.
  void packColumns(Value column, Value count, DepthBlock block);

  /// Where a micro-kernel reads the tile of a that starts at `row`. If it is packed, `offset` rows of the packed ones
  /// precede it.
  Value tileOfA(Value row, Value offset, DepthBlock block);
  /// The panel of b that starts at `column`; `columns` are those of the block.
  Value panelOfB(IndexRange columns, Value column, DepthBlock block);
  /// Units of 32 bits along K in a block; the same in a and b.
  Value unitsOf(DepthBlock block) { return plan.packing.formatA.units(code, block.depth); }

private:
  CodeBuilder &code;
  const ContractionPlan &plan;
  ContractionOperands &operands;
  mlir::LLVM::LLVMFuncOp packA, packB; ///< null: the operand is read in place
  Value panelsOfA, panelsOfB;          ///< addresses in the scratch memory
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_OPERANDPANELS_H
