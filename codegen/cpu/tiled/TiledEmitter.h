//===- TiledEmitter.h - emits the function of a tiled op ------------------===//

#ifndef TESSERA_CODEGEN_CPU_TILED_TILEDEMITTER_H
#define TESSERA_CODEGEN_CPU_TILED_TILEDEMITTER_H

#include "codegen/cpu/contraction/IndexRange.h"
#include "codegen/cpu/contraction/MicroKernels.h"
#include "codegen/cpu/contraction/Prefetch.h"
#include "codegen/cpu/tiled/TiledPlan.h"

namespace tessera {

/// The loops over the batch and over blocks of rows are in TiledCodegen.cpp, the contractions in a block in
/// TiledContractions.cpp. Results refer to the current position along the batch axes.
class TiledEmitter {
public:
  using Value = mlir::Value;

  TiledEmitter(mlir::ModuleOp module, TiledPlan &plan, MatrixFunctions &functions)
      : module(module), plan(plan), functions(functions), code(mlir::UnknownLoc::get(module.getContext())) {}
  llvm::LogicalResult emit(llvm::StringRef symbol, const CpuTarget &target);

private:
  llvm::LogicalResult emitKernels(llvm::StringRef symbol, const CpuTarget &target);
  void chooseMicroKernels();

  void emitIteration(Value number);
  /// Sets the current position along the parallel batch axes to that of iteration `number`.
  void setPosition(Value number);
  /// For each position along some axes, outermost first.
  void forEachPosition(llvm::ArrayRef<unsigned> axes, llvm::function_ref<void()> body);
  /// The operands in memory that iteration `number` reads.
  llvm::SmallVector<PrefetchRegion> operandRegions(Value number);

  void emitBlock(IndexRange rows);
  void emitKernel(size_t stage, IndexRange rows, IndexRange columns);
  IndexRange columnsInBand(IndexRange rows);
  IndexRange columnsOfKernels(IndexRange columns);

  // Contractions. Each computes its part for some rows and columns of the matrix.
  void emitMatrix(size_t stage, IndexRange rows, IndexRange columns);
  void emitSumOverColumns(size_t stage, IndexRange rows, IndexRange columns);
  void emitSumOverRows(size_t stage, IndexRange rows, IndexRange columns, IndexRange computed);
  void clearSums(const TiledStage &stage);
  void roundSums(const TiledStage &stage);
  void clearBeside(Value matrix, int64_t width, IndexRange rows, IndexRange columns, bool onBothSides);

  /// Packs operand y of a contraction, which every block of rows reads.
  void packOperand(const TiledStage &stage);
  /// Packs lines of an operand, each of `depth` elements, into panels of `width` lines.
  void pack(const TiledStage &stage, Value source, TiledStrides strides, Value lines, Value depth, unsigned width,
            Value panels);

  /// Where the sums of a contraction's result are: in scratch memory, or in the result itself.
  Value sumsOf(const TiledStage &stage);
  int64_t sumStride(const TiledStage &stage) {
    return stage.sums >= 0 ? TiledPlan::sumStride(stage) : stage.contraction->ofResult.line;
  }
  /// The type of the sums that micro-kernels write.
  static ElementType sumType(const TiledStage &stage) { return stage.sums >= 0 ? ElementType::F32 : stage.resultType; }
  static ElementType typeOf(Value value) { return *elementTypeOf(tensorType(value).getElementType()); }

  bool isInMemory(Value value) const { return !plan.slots.contains(value); }
  /// The address of a value in memory.
  Value inMemory(Value value);
  /// The address of row `row` of the block, of a matrix in the scratch memory.
  Value matrixRow(Value matrix, Value row) {
    TiledSlot slot = plan.slots.lookup(matrix);
    return elementAt(code, typeOf(matrix), inScratch(slot.offset), code.mul(row, slot.rowStride));
  }
  Value matrixAt(Value matrix, Value row, Value column) {
    return elementAt(code, typeOf(matrix), matrixRow(matrix, row), column);
  }
  Value inScratch(int64_t offset) { return code.at(scratch, code.getI8Type(), offset); }

  mlir::ModuleOp module;
  TiledPlan &plan;
  MatrixFunctions &functions;
  CodeBuilder code;
  Value scratch, kernelArguments, zeroVector;
  llvm::DenseMap<Value, Value> bases;                            ///< addresses of values in memory
  llvm::SmallVector<Value> positions;                            ///< along the batch axes; null: 0
  std::vector<std::unique_ptr<VectorMicroKernels>> microKernels; ///< by stage; null for kernels
  llvm::SmallVector<std::string> kernels;                        ///< symbols by stage; empty for contractions
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_TILED_TILEDEMITTER_H
