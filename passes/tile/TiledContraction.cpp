//===- TiledContraction.cpp - contractions inside tiled ops ---------------===//

#include "passes/tile/TiledContraction.h"
#include "passes/gemm/Gemm.h"

using namespace mlir;
using namespace tessera;

MatrixAxes MatrixAxes::of(NamedTensorType matrix) {
  ArrayRef<AxisAttr> axes = matrix.getAxes();
  assert(axes.size() >= 2 && "a matrix has rows and columns");
  return {SmallVector<AxisAttr>(axes.drop_back(2)), axes[axes.size() - 2], axes.back()};
}

std::optional<MatrixAxes> MatrixAxes::of(TiledOp tiled) {
  for (auto contract : tiled.getBlock().getOps<ContractOp>())
    for (Value value : {contract.getResult(), contract.getLhs(), contract.getRhs()})
      if (NamedTensorType type = tensorType(value); type.getRank() >= 2) {
        MatrixAxes axes = of(type);
        if (axes.rows.getName() == tiled.getRows() && axes.columns.getName() == tiled.getColumns()) return axes;
      }
  return std::nullopt;
}

bool MatrixAxes::isBatch(StringRef name) const {
  return llvm::any_of(batch, [&](AxisAttr axis) { return axis.getName() == name; });
}

bool MatrixAxes::isMatrix(NamedTensorType type) const {
  ArrayRef<AxisAttr> axes = type.getAxes();
  return axes.size() == batch.size() + 2 && startsWithRows(type) && axes.back() == columns;
}

bool MatrixAxes::startsWithRows(NamedTensorType type) const {
  ArrayRef<AxisAttr> axes = type.getAxes();
  return axes.size() > batch.size() && axes.take_front(batch.size()) == ArrayRef(batch) && axes[batch.size()] == rows;
}

namespace {
/// The axes of a tensor that are neither batch axes nor rows nor columns.
struct Rest {
  SmallVector<AxisAttr> axes;
  int64_t size = 1, stride = 1;
  bool isOne = true; ///< whether they are contiguous like one axis

  Rest(NamedTensorType type, const MatrixAxes &matrix) {
    int64_t next = 0; // the stride that the next outer axis must have
    SmallVector<int64_t> strides = type.getStrides();
    for (auto [axis, axisStride] : llvm::zip_equal(llvm::reverse(type.getAxes()), llvm::reverse(strides))) {
      if (matrix.isBatch(axis.getName()) || axis == matrix.rows || axis == matrix.columns) continue;
      axes.insert(axes.begin(), axis);
      if (axis.getSize() == 1) continue;
      if (size == 1)
        stride = axisStride;
      else
        isOne &= axisStride == next;
      size *= axis.getSize();
      next = axisStride * axis.getSize();
    }
  }
};
} // namespace

static int64_t strideOf(NamedTensorType type, AxisAttr axis) {
  return type.getStrides()[type.findAxis(axis.getName())];
}

static bool has(NamedTensorType type, AxisAttr axis) { return llvm::is_contained(type.getAxes(), axis); }

/// Whether the contraction sums over exactly `wanted`, and batch axes beside it if `andBatch`.
static bool sumsOver(ContractOp contract, ArrayRef<AxisAttr> wanted, const MatrixAxes &axes, bool andBatch) {
  SmallVector<StringRef> over = names(contract.getOver());
  auto isWanted = [&](StringRef name) {
    return llvm::any_of(wanted, [&](AxisAttr axis) { return axis.getName() == name; });
  };
  return llvm::all_of(over, [&](StringRef name) { return isWanted(name) || (andBatch && axes.isBatch(name)); }) &&
         llvm::all_of(wanted, [&](AxisAttr axis) { return llvm::is_contained(over, axis.getName()); });
}

/// With the operands that stand for x (or the matrix) and y.
static std::optional<TiledContraction> tiledRole(ContractOp contract, const MatrixAxes &axes, unsigned x, unsigned y) {
  NamedTensorType xType = tensorType(contract->getOperand(x)), yType = tensorType(contract->getOperand(y));
  NamedTensorType result = contract.getType();
  TiledContraction found{TiledRole::MakesMatrix, x, y, 1, {}, {}, {}};
  Rest ofX(xType, axes), ofY(yType, axes), ofResult(result, axes);
  auto sameRest = [](const Rest &a, const Rest &b) {
    auto isLong = [](AxisAttr axis) { return axis.getSize() != 1; };
    return a.isOne && b.isOne &&
           llvm::equal(llvm::make_filter_range(a.axes, isLong), llvm::make_filter_range(b.axes, isLong));
  };
  found.extent = ofY.size;
  if (axes.isMatrix(result)) {
    bool fits = has(xType, axes.rows) && !has(xType, axes.columns) && has(yType, axes.columns) &&
                !has(yType, axes.rows) && sameRest(ofX, ofY) && sumsOver(contract, ofY.axes, axes, false);
    if (!fits) return std::nullopt;
    found.ofX = {strideOf(xType, axes.rows), ofX.stride};
    found.ofY = {strideOf(yType, axes.columns), ofY.stride};
    if (!found.ofX.isDense() || !found.ofY.isDense()) return std::nullopt;
    return found;
  }
  if (!axes.isMatrix(xType) || !sameRest(ofY, ofResult) || ofResult.stride != 1) return std::nullopt;
  bool sumsRows = has(yType, axes.rows);
  AxisAttr inside = sumsRows ? axes.rows : axes.columns, outside = sumsRows ? axes.columns : axes.rows;
  if (!has(yType, inside) || has(yType, outside) || !has(result, outside) || has(result, inside)) return std::nullopt;
  if (!sumsOver(contract, {inside}, axes, sumsRows)) return std::nullopt;
  found.role = sumsRows ? TiledRole::SumsRows : TiledRole::SumsColumns;
  found.ofY = {strideOf(yType, inside), ofY.stride};
  found.ofResult = {strideOf(result, outside), ofResult.stride};
  if (!found.ofY.isDense()) return std::nullopt;
  return found;
}

std::optional<TiledContraction> tessera::tiledRole(ContractOp contract, const MatrixAxes &axes) {
  if (contract.getInit() || contract.getBias() || contract.getEpilogue()) return std::nullopt;
  Type operands = contract.getLhs().getType().getElementType(), result = contract.getType().getElementType();
  if (contract.getRhs().getType().getElementType() != operands || !elementTypeOf(operands)) return std::nullopt;
  if (isFp8(operands)) return std::nullopt; // its result is divided by scales, in another kernel
  if (!result.isF32() && result != operands) return std::nullopt;
  if (auto found = ::tiledRole(contract, axes, 0, 1)) return found;
  return ::tiledRole(contract, axes, 1, 0);
}
