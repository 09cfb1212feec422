//===- LoopNestEmitter.h - from a kernel's plan to its code ---------------===//
//
// The generated function, for P = parallel loops, S = serial loops and a tile of W points along the vector loop:
//
//   vector loop in P                          vector loop in S
//   for row in rows of P                      for point of P
//     for tile in the row                       for sweep in sweeps
//       for sweep in sweeps                       for s in outer S
//         for s in S                                for tile in the row: accumulate, or write
//           accumulate, or write                    combine the lanes
//       write row values                        write row values
//
// With the vector loop in S two rows are computed at once, by the same loops. With one row after the other, the
// processor would wait at the end of each sum.
//
// A tile is several vectors ("chunks"). The last tile of a row may be shorter, and its last chunk masked. The chunks of
// a tile are computed one after the other, so that registers hold the values of one chunk. A value is emitted in the
// outermost loop in which it is known, so each open loop has a frame of values.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_KERNEL_LOOPNESTEMITTER_H
#define TESSERA_CODEGEN_CPU_KERNEL_LOOPNESTEMITTER_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/kernel/AccessEmitter.h"
#include "codegen/cpu/object/CpuTarget.h"

namespace tessera {

class LoopNestEmitter {
public:
  using Value = mlir::Value;
  using ItemSet = llvm::SmallPtrSet<Value, 16>;

  LoopNestEmitter(const KernelPlan &plan, const CpuTarget &target, mlir::Location loc);

  /// Emits the function at the end of `module`. Returns how threads share its iterations.
  llvm::FailureOr<WorkSharing> emit(mlir::ModuleOp module, llvm::StringRef symbol);

  /// Emits a hidden function `void (ptr arguments, i64 firstRow, i64 lastRow, i64 firstColumn, i64 lastColumn)` that
  /// runs for rows of the parallel loops outside the vector loop, and for a range of that loop: from a multiple of
  /// `columnStep` to another, or to its end.
  llvm::LogicalResult emitForRows(mlir::ModuleOp module, llvm::StringRef symbol);

private:
  /// A sweep and the number of accumulators of each of its reductions.
  struct SerialSweep : Sweep {
    llvm::SmallVector<unsigned> accumulators;
  };
  using TileBody = llvm::function_ref<void()>;

  // LoopNestEmitter.cpp: loops over P.
  mlir::LLVM::LLVMFuncOp emitFunction(mlir::ModuleOp module, llvm::StringRef symbol, mlir::LLVM::LLVMFunctionType type);
  WorkSharing sharing() const;
  /// The loops over [begin, end) of the collapsed parallel space: rows and the tiles of a row, or points.
  void emitBody(Value begin, Value end);
  void emitRows(Value first, Value last, llvm::function_ref<void(Value row)> body);
  /// What is done in a row, for the tiles in [from, to) of the vector loop where that is parallel.
  void emitRow(Value from, Value to);
  void emitTiles(Value from, Value to, TileBody body);
  void openRow(Value row);
  void emitPoint();
  /// The chunks of a tile of `count` iterations.
  llvm::SmallVector<TileChunk> chunksFor(int64_t count) const;

  // LoopNestEmitter.cpp: items.
  /// Emits all items that are known after `sweepsDone` sweeps: those of `needed`, if given.
  void emitKnown(unsigned sweepsDone, const ItemSet *needed);
  /// Items that are known now, have not been emitted, and vary along the vector loop or do not.
  llvm::SmallVector<Value> knownItems(unsigned sweepsDone, const ItemSet *needed, bool isVector) const;
  Value emitItem(Value item, unsigned chunk);
  Value emitConstant(ConstantOp constant, mlir::Type element);
  void emitResult(unsigned result, unsigned chunk);
  void fail(mlir::Operation *op);

  // Sweeps.cpp: loops over S.
  void emitSweep(unsigned number);
  llvm::SmallVector<Value> emitSerialLoops(const SerialSweep &sweep, unsigned loop, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitVectorLoop(const SerialSweep &sweep, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitSerialBodies(const SerialSweep &sweep, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitSerialBody(const SerialSweep &sweep, mlir::ValueRange accumulators);
  Value combineLanes(ReduceKind kind, llvm::MutableArrayRef<Value> accumulators);

  // Scatter.cpp: kernels of rule 4 (docs/ir.md, Kernels).
  void emitScatterRows(Value from, Value to);
  void emitScatterInit(Value from, Value to);
  void emitScatterAdds(Value from, Value to);
  void emitScatterAdd();

  /// The range of the vector loop that runs; null for all of it.
  Value firstColumn, lastColumn;

  const KernelPlan &plan;
  CodeBuilder code;
  VectorTile tile;
  unsigned rowsAtOnce;
  LoopState state;
  AccessEmitter memory;
  bool failed = false;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_KERNEL_LOOPNESTEMITTER_H
