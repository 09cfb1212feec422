//===- LoopNestEmitter.h - from a kernel's plan to its code ---------------===//
//
// The generated function, for P = parallel loops, S = serial loops and a tile of
// W points along the vector loop:
//
//   vector loop in P                          vector loop in S
//   for row in rows of P                      for point of P
//     for tile in the row                       for sweep in sweeps
//       for sweep in sweeps                       for s in outer S
//         for s in S                                for tile in the row: accumulate, or write
//           accumulate, or write                    combine the lanes
//       write row values                        write row values
//
// With the vector loop in S two rows are computed at once, by the same loops: one row after the other would leave the
// processor waiting at the end of each sum.
//
// A tile is several vectors ("chunks"); the last tile of a row may be shorter, and its last chunk masked. A tile
// is computed chunk after chunk, so that registers hold the values of one chunk. A value is emitted in the outermost
// loop in which it is known, so a frame of values belongs to each open loop.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CPU_LOOPNESTEMITTER_H
#define TESSERA_CODEGEN_CPU_LOOPNESTEMITTER_H

#include "codegen/WorkSharing.h"
#include "codegen/cpu/builder/CodeBuilder.h"
#include "codegen/cpu/object/CpuTarget.h"
#include "passes/kernel/KernelPlan.h"

namespace tessera {

class LoopNestEmitter {
public:
  using Value = mlir::Value;
  using ItemSet = llvm::SmallPtrSet<Value, 16>;

  LoopNestEmitter(const KernelPlan &plan, const CpuTarget &target, mlir::Location loc);

  /// Emits the function at the end of `module`; how its iterations are shared.
  llvm::FailureOr<WorkSharing> emit(mlir::ModuleOp module, llvm::StringRef symbol);

  /// Emits a hidden function `void (ptr arguments, i64 firstRow, i64 lastRow, i64 firstColumn, i64 lastColumn)` that
  /// runs for rows of the parallel loops outside the vector loop, and for a part of that loop: from a multiple of
  /// `columnStep` to another, or to its end.
  llvm::LogicalResult emitForRows(mlir::ModuleOp module, llvm::StringRef symbol);

private:
  /// One vector of a tile: the lanes from `offset` on, of which the first `active` count.
  struct Chunk {
    int64_t offset;
    unsigned active;
  };
  /// Values by item: one, or one a chunk where they vary along the vector loop.
  using Frame = llvm::DenseMap<Value, llvm::SmallVector<Value, 4>>;
  struct Sweep : tessera::Sweep {
    llvm::SmallVector<unsigned> slots; ///< accumulators of each reduction
  };

  // LoopNestEmitter.cpp: loops over P.
  void chooseTile();
  mlir::LLVM::LLVMFuncOp emitFunction(mlir::ModuleOp module, llvm::StringRef symbol, mlir::LLVM::LLVMFunctionType type);
  WorkSharing sharing() const;
  void emitBody(Value begin, Value end);
  void loadArguments(Value list);
  void emitTiles(Value from, Value to, llvm::function_ref<void()> body);
  void openRow(Value row);
  void chooseRowsAtOnce();
  /// Runs `body` for each row that is computed at once, with its frames and indices as the current ones.
  void forEachRow(llvm::function_ref<void(unsigned row)> body);
  void emitPoint();
  llvm::SmallVector<Chunk> chunksFor(int64_t count) const;

  // Items and frames.
  /// Emits all items that are known now, `done` sweeps being over: of `needed`, if given.
  void emitKnown(unsigned done, const ItemSet *needed);
  /// Items that are known now, not yet emitted, and vary along the vector loop or do not.
  llvm::SmallVector<Value> knownItems(unsigned done, const ItemSet *needed, bool vector) const;
  Value emitItem(Value item, unsigned chunk);
  bool isEmitted(Value item) const;
  Value get(Value item, unsigned chunk) const;
  bool isVector(Value item) const { return plan.varies.lookup(item) & plan.vectorMask(); }
  void fail(mlir::Operation *op);

  // Sweeps.cpp: loops over S.
  void emitSweep(unsigned number);
  llvm::SmallVector<Value> emitSerialLoops(const Sweep &sweep, unsigned loop, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitVectorLoop(const Sweep &sweep, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitSerialBodies(const Sweep &sweep, mlir::ValueRange accumulators);
  llvm::SmallVector<Value> emitSerialBody(const Sweep &sweep, mlir::ValueRange accumulators);
  Value combineLanes(ReduceKind kind, llvm::MutableArrayRef<Value> accumulators);

  // Memory.cpp: loads and stores.
  Value emitLoad(const Access &access, unsigned chunk, bool vector);
  void emitStore(const Access &access, Value value, unsigned chunk, Value extraOffset = {});
  void emitResult(unsigned result, unsigned chunk);
  /// The expression at lane 0 of a chunk, without the terms that vary along the vector loop.
  Value scalarPart(const LinearIndex &expr, unsigned chunk);
  /// The terms that vary along the vector loop, summed, as a vector; null if there are none.
  Value vectorTerms(const LinearIndex &expr, unsigned chunk);
  /// The whole expression, a vector if it varies along the vector loop.
  Value emitExpr(const LinearIndex &expr, unsigned chunk);
  Value emitTerm(const Nonlinear &term, unsigned chunk);
  int64_t vectorStride(const LinearIndex &expr) const {
    return plan.vectorLoop < 0 ? 0 : expr.coefficients[plan.vectorLoop];
  }
  bool variesAlongVector(const LinearIndex &expr) const;
  Value chunkMask(unsigned chunk);
  /// Where the access exists: a scalar, a vector, or null for everywhere.
  Value rangeMask(const Access &access, unsigned chunk);

  // Scatter.cpp: kernels of rule 4.
  void emitScatterRows(Value from, Value to);
  void emitScatterInit(Value from, Value to);
  void emitScatterAdds(Value from, Value to);
  void emitScatterAdd();

  /// What of the vector loop runs: all of it where these are null.
  Value firstColumn, lastColumn;

  const KernelPlan &plan;
  CodeBuilder code;
  unsigned lanes = 0; ///< of a chunk; 0 for scalar code
  unsigned tileChunks = 1;
  unsigned rowsAtOnce = 1;
  bool failed = false;

  llvm::SmallVector<Value> arguments; ///< addresses of operands and results
  llvm::SmallVector<Value> indices;   ///< of the loops; for the vector loop: where the tile starts
  uint64_t open = 0;                  ///< loops that have an index now
  llvm::SmallVector<Chunk> chunks;    ///< of the current tile
  std::vector<Frame> frames;
  /// Indices and frames of the rows that are computed at once, where there are several: the current row's are exchanged
  /// with those above meanwhile.
  struct Row {
    llvm::SmallVector<Value> indices;
    std::vector<Frame> frames;
  };
  std::vector<Row> rowsNow;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_LOOPNESTEMITTER_H
