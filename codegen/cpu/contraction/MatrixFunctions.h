//===- MatrixFunctions.h - register tiles and packed panels ---------------===//
//
// The functions that contractions are made of, each emitted once in a module,
// whatever number of contractions calls it:
//
//   product   c[i, j] = addend[i, j] + sum over k of a[i, k] · b[k, j], for a tile of c that stays in registers while k
//             runs; the number of rows is fixed, that of columns at most the tile's
//   pack      copies lines of an operand into a panel in which, for each k, the numbers of all lines lie side by side:
//             what `product` reads from beginning to end
//
// A row of the tile is several vectors of b's columns, times one number of a in all lanes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H

#include "codegen/cpu/Code.h"
#include "codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>

namespace tessera {

/// Steps of K in which the panel of b that a product reads, 32 KiB, stays in the first level cache.
inline constexpr int64_t shortSteps = 256;

/// Rows at a distance of a multiple of so many bytes meet in the same lines of the first level cache.
inline constexpr int64_t worstStride = 4096;

/// Work that a thread is worth waking for, in multiply-adds: about a microsecond.
inline constexpr int64_t leastWork = 128 * 1024;

/// What a processor's registers hold of c.
struct RegisterTile {
  unsigned rows = 1, vectors = 1, lanes = 4;
  unsigned columns() const { return vectors * lanes; }

  /// The largest tile for a c of so many columns: its sums, a row of b and a number of a fill the vector registers.
  static RegisterTile of(const CpuTarget &target, int64_t columns);
};

/// Strides with which `product` reads, in elements.
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

  MatrixFunctions(mlir::ModuleOp module, unsigned lanes) : module(module), lanes(lanes) {}

  /// void product(i64 steps, ptr a, ptr b, ptr c, i64 ldc, ptr row, i64 columns), steps ≥ 1. `masked`: only `columns` of b, c
  /// and row exist; else all of the tile's.
  mlir::LLVM::LLVMFuncOp product(unsigned rows, unsigned vectors, bool masked, Addend addend, ProductStrides strides);

  /// void pack(ptr source, i64 stride, i64 steps, i64 lines, ptr panels), steps ≥ 1, lines ≥ 1.
  /// Panel p, at p · steps · width, holds `width` lines: panel[k · width + i] = source[p · width + i, k]. `transposing`: k is
  /// contiguous in the source and `stride` goes from line to line; else lines are contiguous and it goes from k to k. What stands beside `lines` is any number. Writes up to a vector beyond the last panel.
  mlir::LLVM::LLVMFuncOp pack(unsigned width, bool transposing);

  /// Of every product.
  static mlir::LLVM::LLVMFunctionType productType(Code &code);

private:
  mlir::LLVM::LLVMFuncOp begin(Code &code, const std::string &name, mlir::LLVM::LLVMFunctionType type);

  mlir::ModuleOp module;
  unsigned lanes;
  std::map<std::string, mlir::LLVM::LLVMFuncOp> functions;
};

/// Loads `lanes` numbers from an address that need not be aligned; where `mask` is given, only those, and zeros.
mlir::Value loadVector(Code &code, mlir::Value address, unsigned lanes, mlir::Value mask = {});
void storeVector(Code &code, mlir::Value vector, mlir::Value address, mlir::Value mask = {});

/// The transposed of a square of f32 vectors.
llvm::SmallVector<mlir::Value> transpose(Code &code, llvm::ArrayRef<mlir::Value> rows);

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_MATRIXFUNCTIONS_H
