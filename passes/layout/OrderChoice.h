//===- OrderChoice.h - orders of axes as a small algebra ---------------------===//
//
// Pure functions on types: which order a result takes from its operands.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_LAYOUT_ORDERCHOICE_H
#define TESSERA_PASSES_LAYOUT_ORDERCHOICE_H

#include "passes/gemm/Gemm.h"

namespace tessera {

/// `type` with its axes in the order of `names`; axes that `names` lacks follow in their own order.
NamedTensorType inOrderOf(NamedTensorType type, llvm::ArrayRef<llvm::StringRef> names);

/// The axis names of a type.
llvm::SmallVector<llvm::StringRef> axisNames(NamedTensorType type);

/// Whether the axes named are adjacent in the type, in the order given if `ordered`.
bool standTogether(NamedTensorType type, llvm::ArrayRef<llvm::StringRef> names, bool ordered);

/// `type` with the axes named moved together, in that order, to the place of the last of them.
NamedTensorType movedTogether(NamedTensorType type, llvm::ArrayRef<llvm::StringRef> names);

/// How an operand of a contraction divides its axes.
struct OperandGroups {
  llvm::SmallVector<llvm::StringRef> batch, free, summed;
};
OperandGroups groupOperand(NamedTensorType operand, NamedTensorType other, llvm::ArrayRef<llvm::StringRef> over);

/// Whether the operand alone allows a GEMM: the free and the summed axes are adjacent each, one of the groups
/// innermost.
bool suitsGemm(NamedTensorType operand, const OperandGroups &groups);

/// Orders that the result of a contraction may take, best first, without repetition. `normal` is the result in its
/// normal order.
llvm::SmallVector<NamedTensorType> resultCandidates(const ContractTypes &types, NamedTensorType normal);

} // namespace tessera

#endif // TESSERA_PASSES_LAYOUT_ORDERCHOICE_H
