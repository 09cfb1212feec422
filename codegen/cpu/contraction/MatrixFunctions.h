//===- MatrixFunctions.h - register tiles and packed panels ---------------===//
//
// The functions that contractions are made of, each emitted once in a module,
// whatever number of contractions calls it:
//
//   product   c[i, j] = addend[i, j] + sum over k of a[i, k] · b[k, j], for a tile of c that stays in registers while k
//             runs; the number of rows is fixed, that of columns at most the tile's
//   pack      copies lines of an operand into a panel in which, for each k, the numbers of all lines lie side by side:
//             what `product` reads from beginning to end
//   round     copies sums to a c of a low type
//
// A row of the tile is several vectors of b's columns, times one number of a in all lanes.
//
// Panels consist of units of 32 bits: an f32 number, or where the processor multiplies pairs of bf16 and adds up in
// f32, the numbers of two successive k. Numbers of other low types become one or the other where they are packed: those
// of eight bits are numbers of bf16 too.
//
// With AMX a product of pairs is `amxProduct`: its tile of c stands in four of the processor's tile registers, and both
// operands come in blocks of 16 units along K (Amx.h).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H

#include "codegen/cpu/builder/CodeBuilder.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/gemm/Gemm.h"
#include <map>

namespace tessera {

/// Steps of K in which the panel of b that a product reads, 32 KiB, stays in the first level cache.
inline constexpr int64_t shortSteps = 256;

/// Rows at a distance of a multiple of so many bytes meet in the same lines of the first level cache.
inline constexpr int64_t worstStride = 4096;

/// Work that a thread is worth waking for, in multiply-adds: about a microsecond.
inline constexpr int64_t leastWork = 128 * 1024;

/// Of AMX's tile registers: rows, and units in each row.
inline constexpr int64_t amxRows = 16, amxUnits = 16;

/// What a processor's registers hold of c.
struct RegisterTile {
  unsigned rows = 1, vectors = 1, lanes = 4;
  unsigned columns() const { return vectors * lanes; }

  /// The largest tile for a c of so many columns: its sums, a row of b and a number of a fill the vector registers.
  static RegisterTile of(const CpuTarget &target, int64_t columns);
  /// In AMX's registers, two by two.
  static RegisterTile ofAmx() { return {2 * amxRows, 2, amxUnits}; }
};

/// How numbers of a type lie in packed panels, and are multiplied.
struct PanelFormat {
  ElementType type = ElementType::F32; ///< of the operand
  bool pairs = false;                  ///< units are pairs of successive k
  bool amx = false;                    ///< as AMX reads pairs: whole blocks along K, zeros behind the last unit

  /// Of one operand of a product; the other's has the same units.
  static PanelFormat of(const CpuTarget &target, ElementType type) {
    return {type, (type == ElementType::BF16 || isFp8(type)) && target.hasBf16Dot};
  }
  /// Whether the operand lies in memory as in a panel, but for strides.
  bool isLikeMemory() const { return type == (pairs ? ElementType::BF16 : ElementType::F32); }
  int64_t perUnit() const { return pairs ? 2 : 1; }
  int64_t units(int64_t steps) const { return llvm::alignTo(llvm::divideCeil(steps, perUnit()), amx ? amxUnits : 1); }
  mlir::Value units(CodeBuilder &code, mlir::Value steps) const {
    if (amx) return code.bitAnd(code.add(filledUnits(code, steps), amxUnits - 1), -amxUnits);
    return filledUnits(code, steps);
  }
  /// Those that hold numbers.
  mlir::Value filledUnits(CodeBuilder &code, mlir::Value steps) const {
    return pairs ? code.udiv(code.add(steps, 1), 2) : steps;
  }
};

/// Strides with which `product` reads, in units.
struct ProductStrides {
  int64_t aRow, aStep; ///< of a, from row to row and from k to k
  int64_t bStep;       ///< of b, from k to k; columns are contiguous
  auto operator<=>(const ProductStrides &) const = default;
};

/// What `product` adds to its sums: a row (a bias, or zeros) in each row, what c holds, or both.
enum class Addend { Row, C, CPlusRow };

class MatrixFunctions {
public:
  using Value = mlir::Value;

  MatrixFunctions(mlir::ModuleOp module, const CpuTarget &target)
      : module(module), lanes(target.floatLanes), hasBf16Casts(target.hasBf16Dot) {}

  /// void product(i64 units, ptr a, ptr b, ptr c, i64 ldc, ptr row, i64 columns), units ≥ 1. `masked`: only `columns`
  /// of b, c and row exist; else all of the tile's. c is of `result`; f32 where the addend reads it.
  mlir::LLVM::LLVMFuncOp product(unsigned rows, unsigned vectors, bool masked, Addend addend, ProductStrides strides,
                                 PanelFormat format, ElementType result);

  /// void amxProduct(i64 units, ptr a, ptr b, ptr c, i64 ldc, ptr row, i64 columns, i64 rows): as `product` for up to
  /// 16 or 32 rows and columns, of which only those given exist in c and row. All of a's and b's tiles are read, so
  /// both are panels, or a has whole tiles. `aStep` goes from block to block along K. The caller has configured the
  /// tiles (Amx.h).
  mlir::LLVM::LLVMFuncOp amxProduct(unsigned rowTiles, unsigned columnTiles, Addend addend, ProductStrides strides,
                                    ElementType result);

  /// void pack(ptr source, i64 stride, i64 steps, i64 lines, ptr panels), steps ≥ 1, lines ≥ 1; stride and steps in
  /// numbers. Panel p, at p · units · width, holds `width` lines: panel[k · width + i] = source[p · width + i, k], k
  /// counted in units. `transposing`: k is contiguous in the source and `stride` goes from line to line; else lines are
  /// contiguous and it goes from k to k. What stands beside `lines` is any number; beside an odd last k stands 0, and
  /// for AMX up to a block's end. Writes up to a vector beyond the last panel.
  mlir::LLVM::LLVMFuncOp pack(unsigned width, bool transposing, PanelFormat format);

  /// The same for operand a of `amxProduct`, but `transposing` where lines are contiguous: a panel of 32 lines holds,
  /// for each 16 units of K, those of the first line, then of the next. Behind the last k stand zeros.
  mlir::LLVM::LLVMFuncOp packAmxRows(bool transposing, PanelFormat format);

  /// void round(ptr sums, i64 lds, ptr c, i64 ldc, i64 rows, i64 columns): c = sums, f32 rounded to the type.
  mlir::LLVM::LLVMFuncOp round(ElementType result);

  /// Of every product, but for AMX's.
  static mlir::LLVM::LLVMFunctionType productType(CodeBuilder &code);
  static mlir::LLVM::LLVMFunctionType amxProductType(CodeBuilder &code);
  /// Whether any function uses AMX.
  bool usesAmx() const { return hasAmxProducts; }

private:
  mlir::LLVM::LLVMFuncOp begin(CodeBuilder &code, const std::string &name, llvm::ArrayRef<mlir::Type> arguments);

  mlir::ModuleOp module;
  unsigned lanes;
  bool hasBf16Casts, hasAmxProducts = false;
  std::map<std::string, mlir::LLVM::LLVMFuncOp> functions;
};

/// Loads `lanes` f32 numbers from an address that need not be aligned; where `mask` is given, only those, and zeros.
mlir::Value loadVector(CodeBuilder &code, mlir::Value address, unsigned lanes, mlir::Value mask = {});
/// The same of numbers of any type, made f32.
mlir::Value loadVector(CodeBuilder &code, ElementType type, mlir::Value address, unsigned lanes, mlir::Value mask = {});
/// Stores f32 numbers, rounded to the type.
void storeVector(CodeBuilder &code, mlir::Value vector, mlir::Value address, mlir::Value mask = {},
                 ElementType type = ElementType::F32);

/// The bits of bf16 numbers, into which those of eight bits turn.
mlir::Value loadBf16(CodeBuilder &code, ElementType type, mlir::Value address, unsigned lanes, mlir::Value mask);

/// `base` plus `offset` numbers of a type.
mlir::Value numberAt(CodeBuilder &code, ElementType type, mlir::Value base, mlir::Value offset);
mlir::Value numberAt(CodeBuilder &code, ElementType type, mlir::Value base, int64_t offset);

/// The transposed of a square of f32 vectors.
llvm::SmallVector<mlir::Value> transpose(CodeBuilder &code, llvm::ArrayRef<mlir::Value> rows);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
