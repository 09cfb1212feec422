//===- MicroKernels.cpp - calls of micro-kernels for tiles of any shape ----===//

#include "codegen/cpu/contraction/MicroKernels.h"

using namespace mlir;
using namespace tessera;

SmallVector<unsigned> tessera::rowCounts(const RegisterTile &tile, ArrayRef<int64_t> lengths) {
  SmallVector<unsigned> counts;
  for (int64_t length : lengths) {
    if (length >= tile.rows) counts.push_back(tile.rows);
    if (length % tile.rows != 0) counts.push_back(length % tile.rows);
  }
  llvm::sort(counts, std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

VectorMicroKernels::VectorMicroKernels(MatrixFunctions &matrixFunctions, const RegisterTile &tile,
                                       MicroKernelStrides strides, ArrayRef<unsigned> rowCounts, int64_t columns,
                                       Addend first, Addend later, PanelFormat format, ElementType result)
    : tile(tile), counts(rowCounts), hasWhole(columns >= tile.columns()), hasMasked(columns % tile.columns() != 0),
      hasLater(first != later), functions(counts.size() * 4) {
  for (size_t i = 0; i < counts.size(); ++i)
    for (bool masked : {false, true})
      for (bool isLater : {false, true})
        if ((masked ? hasMasked : hasWhole) && (!isLater || hasLater))
          functions[slotOf(i, masked, isLater)] = matrixFunctions.microKernel(
              counts[i], tile.vectors, masked, isLater ? later : first, strides, format, result);
}

void VectorMicroKernels::call(CodeBuilder &code, const Operands &operands, Value rows, Value columns,
                              Value isFirst) const {
  auto addressOf = [&](size_t i, bool masked, bool later) -> Value {
    LLVM::LLVMFuncOp function = functions[slotOf(i, masked, later)];
    return code.make<LLVM::AddressOfOp>(code.pointer(), function.getSymName());
  };
  auto byColumns = [&](size_t i, bool later) {
    if (!hasMasked) return addressOf(i, false, later);
    if (!hasWhole) return addressOf(i, true, later);
    Value isWhole = code.icmp(LLVM::ICmpPredicate::eq, columns, code.index(tile.columns()));
    return code.select(isWhole, addressOf(i, false, later), addressOf(i, true, later));
  };
  auto byBlock = [&](size_t i) {
    return hasLater ? code.select(isFirst, byColumns(i, false), byColumns(i, true)) : byColumns(i, false);
  };
  Value chosen = byBlock(0);
  for (size_t i = 1; i < counts.size(); ++i) {
    Value isThis = code.icmp(LLVM::ICmpPredicate::eq, rows, code.index(counts[i]));
    chosen = code.select(isThis, byBlock(i), chosen);
  }
  code.make<LLVM::CallOp>(
      MatrixFunctions::microKernelType(code),
      ValueRange{chosen, operands.units, operands.a, operands.b, operands.c, operands.cStride, operands.row, columns});
}
