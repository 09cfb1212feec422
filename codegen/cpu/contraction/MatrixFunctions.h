//===- MatrixFunctions.h - micro-kernels and packing ----------------------===//
//
// The functions that contractions call. Each is emitted once in a module, however many contractions call it:
//
//   microKernel   c[i, j] = addend[i, j] + sum over k of a[i, k] · b[k, j], for a tile of c that stays in registers
//                 while k runs. The number of rows is fixed, that of columns is at most the tile's.
//   pack          copies lines of an operand into panels. A line is a row of a or a column of b. In a panel the
//                 elements of all its lines are adjacent for each k: `microKernel` reads a panel from beginning to end.
//   round         copies sums to a c of a low-precision type
//
// A row of the tile is several vectors of b's columns, multiplied by one element of a in all lanes.
//
// Panels consist of units of 32 bits: an f32 element; or, if the processor multiplies pairs of bf16 elements and
// accumulates in f32, the elements of two successive k. Elements of other low-precision types are converted to one of
// these when they are packed: fp8 elements too are bf16 elements of a pair then.
//
// With AMX, `amxMicroKernel` multiplies pairs: its tile of c is in four of the processor's tile registers, and both
// operands come in blocks of 16 units along K (Amx.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H

#include "codegen/cpu/contraction/ElementVectors.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/gemm/Gemm.h"
#include <map>

namespace tessera {

/// Units of K so few that the panel of b that a micro-kernel reads, 32 KiB, stays in the L1 cache.
inline constexpr int64_t shortDepth = 256;

/// Rows at a distance of a multiple of so many bytes map to the same sets of the L1 cache: they cause conflict misses.
inline constexpr int64_t conflictStride = 4096;

/// Multiply-adds for which waking a thread pays: about a microsecond.
inline constexpr int64_t leastWork = 128 * 1024;

/// The size of AMX's tile registers: rows, and units in each row.
inline constexpr int64_t amxRows = 16, amxUnits = 16;

/// The tile of c that a micro-kernel holds in registers.
struct RegisterTile {
  unsigned rows = 1, vectors = 1, lanes = 4;
  unsigned columns() const { return vectors * lanes; }

  /// The largest tile for a c of so many columns: its sums, a row of b and an element of a fill the vector registers.
  static RegisterTile of(const CpuTarget &target, int64_t columns);
  /// Two by two of AMX's registers.
  static RegisterTile ofAmx() { return {2 * amxRows, 2, amxUnits}; }
};

/// How panels store elements of a type.
struct PanelFormat {
  ElementType type = ElementType::F32; ///< of the operand
  bool pairs = false;                  ///< units are pairs of successive k
  bool amx = false;                    ///< pairs as AMX reads them: whole blocks along K, padded with zeros

  /// For one operand of a GEMM; that of the other operand has the same units.
  static PanelFormat of(const CpuTarget &target, ElementType type) {
    return {type, (type == ElementType::BF16 || isFp8(type)) && target.hasBf16Dot};
  }
  /// Whether the elements are the same in memory as in a panel, but for strides.
  bool isLikeMemory() const { return type == (pairs ? ElementType::BF16 : ElementType::F32); }
  int64_t perUnit() const { return pairs ? 2 : 1; }
  /// Units along K in a panel of some depth, which is in elements.
  int64_t units(int64_t depth) const { return llvm::alignTo(llvm::divideCeil(depth, perUnit()), amx ? amxUnits : 1); }
  mlir::Value units(CodeBuilder &code, mlir::Value depth) const {
    if (amx) return code.bitAnd(code.add(filledUnits(code, depth), amxUnits - 1), -amxUnits);
    return filledUnits(code, depth);
  }
  /// Those that are not padding.
  mlir::Value filledUnits(CodeBuilder &code, mlir::Value depth) const {
    return pairs ? code.udiv(code.add(depth, 1), 2) : depth;
  }
};

/// Strides with which a micro-kernel reads, in units.
struct MicroKernelStrides {
  int64_t aRow, aK; ///< of a, from row to row and from k to k
  int64_t bK;       ///< of b, from k to k; columns are contiguous
  auto operator<=>(const MicroKernelStrides &) const = default;
};

/// What a micro-kernel adds to its sums: one row (a bias, or zeros) to each row, the elements of c, or both.
enum class Addend { Row, C, CPlusRow };

class MatrixFunctions {
public:
  using Value = mlir::Value;

  MatrixFunctions(mlir::ModuleOp module, const CpuTarget &target)
      : module(module), lanes(target.floatLanes), hasBf16Casts(target.hasBf16Dot) {}

  /// void microKernel(i64 units, ptr a, ptr b, ptr c, i64 ldc, ptr row, i64 columns), units ≥ 1. `masked`: only
  /// `columns` of b, c and row exist; else all of the tile's. c has type `result`, which is f32 if the addend reads c.
  mlir::LLVM::LLVMFuncOp microKernel(unsigned rows, unsigned vectors, bool masked, Addend addend,
                                     MicroKernelStrides strides, PanelFormat format, ElementType result);

  /// void amxMicroKernel(i64 units, ptr a, ptr b, ptr c, i64 ldc, ptr row, i64 columns, i64 rows): like `microKernel`
  /// for up to 16 or 32 rows and columns, of which only those given exist in c and row. All of a's and b's tiles are
  /// read, so both are panels, or a consists of whole tiles. `strides.aK` is from block to block along K. The caller
  /// has configured the tiles (Amx.h).
  mlir::LLVM::LLVMFuncOp amxMicroKernel(unsigned rowTiles, unsigned columnTiles, Addend addend,
                                        MicroKernelStrides strides, ElementType result);

  /// void pack(ptr source, i64 stride, i64 depth, i64 lines, ptr panels), depth ≥ 1, lines ≥ 1; stride and depth in
  /// elements. Panel p, at p · units · width, has `width` lines: panel[k · width + i] = source[p · width + i, k], with
  /// k counted in units. `transposing`: k is contiguous in the source and `stride` is from line to line; else lines are
  /// contiguous and it is from k to k. After the last line a panel has any values. An odd depth is padded with 0; for
  /// AMX, up to the end of a block. Writes up to a vector beyond the last panel.
  mlir::LLVM::LLVMFuncOp pack(unsigned width, bool transposing, PanelFormat format);

  /// The same for operand a of `amxMicroKernel`, but `transposing` if lines are contiguous. A panel of 32 lines has,
  /// for each 16 units of K, those of the first line, then of the next. The depth is padded with zeros.
  mlir::LLVM::LLVMFuncOp packAmxRows(bool transposing, PanelFormat format);

  /// void round(ptr sums, i64 lds, ptr c, i64 ldc, i64 rows, i64 columns): c = sums, f32 rounded to the type.
  mlir::LLVM::LLVMFuncOp round(ElementType result);

  /// The types of all micro-kernels.
  static mlir::LLVM::LLVMFunctionType microKernelType(CodeBuilder &code);
  static mlir::LLVM::LLVMFunctionType amxMicroKernelType(CodeBuilder &code);
  /// Whether any function uses AMX.
  bool usesAmx() const { return hasAmxMicroKernels; }

private:
  mlir::LLVM::LLVMFuncOp begin(CodeBuilder &code, const std::string &name, llvm::ArrayRef<mlir::Type> arguments);

  mlir::ModuleOp module;
  unsigned lanes;
  bool hasBf16Casts, hasAmxMicroKernels = false;
  std::map<std::string, mlir::LLVM::LLVMFuncOp> functions;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
