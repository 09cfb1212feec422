//===- PlanChecker.h - executes an entry function on symbols ---------------===//
//
// What `verifyPlaces` does with one entry function: VerifyPlaces.cpp says how, VerifyRepeats.cpp has the repeats.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_PLANCHECKER_H
#define TESSERA_PASSES_MEMORY_PLANCHECKER_H

#include "ir/dialect/Attributes.h"
#include "passes/analysis/EarlyStarts.h"
#include "passes/analysis/Joins.h"
#include "passes/analysis/Views.h"
#include "passes/memory/SymbolicMemory.h"

namespace tessera {

class ScratchPlaces;

/// Iterations of a repeat: from `first`, `count` of them.
struct Dimension {
  int64_t first, count;
};

/// Iterations of a repeat that are executed, at its start and at its end.
inline constexpr int64_t iterationsRun = 4;

class PlanChecker {
public:
  /// `arenaBytes`: the size of the arena. `scratch`: where kernels write while they run; null if they do not.
  PlanChecker(mlir::func::FuncOp function, int64_t arenaBytes, const ScratchPlaces *scratch = nullptr)
      : function(function), early(function), arenaBytes(arenaBytes), scratch(scratch) {}
  /// Fails with an error at the op that reads wrong bytes.
  llvm::LogicalResult run();

private:
  llvm::LogicalResult runBlock(mlir::Block &block);
  llvm::LogicalResult runOp(mlir::Operation *op);
  llvm::LogicalResult runView(mlir::Operation *op);
  llvm::LogicalResult runJoin(JoinOp op);
  /// The ops of one launch, or a single op.
  llvm::LogicalResult runWriters(llvm::ArrayRef<mlir::Operation *> ops);
  /// The early exchanges of the repeat's first iteration.
  llvm::LogicalResult runPrologue(RepeatOp op);
  /// Starts an early exchange for iteration `i` of its repeat; `inductions` are those around the repeat.
  llvm::LogicalResult runEarly(StartOp start, int64_t i);
  /// Those that run behind an op, for the next iteration if there is one.
  llvm::LogicalResult runEarlyBehind(mlir::Operation *op);
  llvm::LogicalResult runRepeat(RepeatOp op);
  llvm::LogicalResult runIteration(RepeatOp op, llvm::MutableArrayRef<Content> carried,
                                   llvm::MutableArrayRef<Content> stacks);
  void skipIterations(RepeatOp op, Dimension skipped, llvm::MutableArrayRef<Content> carried,
                      llvm::MutableArrayRef<Content> stacks);
  void writeSkipped(mlir::Block &block, llvm::ArrayRef<Dimension> around);
  void writeSkipped(mlir::Value value, llvm::ArrayRef<Dimension> around);
  llvm::LogicalResult runReturn(mlir::func::ReturnOp op);
  bool doOverlap(mlir::Value a, mlir::Value b);
  llvm::LogicalResult mayOverlap(mlir::Operation *op, mlir::Value operand, mlir::OpResult result);
  llvm::LogicalResult checkResult(mlir::OpResult result, llvm::ArrayRef<mlir::Operation *> ops);
  /// Writes the scratch memory of a launch, which may hold nothing that it reads or writes.
  llvm::LogicalResult writeScratch(llvm::ArrayRef<mlir::Operation *> ops);

  llvm::LogicalResult setPlaces(mlir::Operation *op, mlir::ValueRange values, mlir::ArrayAttr list);
  llvm::LogicalResult setPlace(mlir::Operation *op, mlir::Value value, mlir::Attribute attr);
  bool isInArena(mlir::Value value, PlaceAttr place) const;
  llvm::LogicalResult read(mlir::Operation *op, mlir::Value value);
  void write(mlir::Value value);
  int64_t address(mlir::Value value) const { return address(places.lookup(value)); }
  int64_t address(PlaceAttr place) const;
  /// Where the parts of a join are, which are written before it.
  int64_t addressOf(JoinOp join) const {
    return address(llvm::cast<PlaceAttr>(join->getAttrOfType<mlir::ArrayAttr>(attrs::places)[0]));
  }
  /// The rows that a value is a part of, if it is one and the parts of a joined value alternate in memory.
  std::optional<PartRows> rowsOf(mlir::Value value);
  static int64_t bytes(mlir::Value value) { return bytesInRoot(value); }

  mlir::func::FuncOp function;
  EarlyStarts early;
  int64_t arenaBytes, nextTag = 0;
  const ScratchPlaces *scratch;
  SymbolicMemory memory;
  llvm::DenseMap<mlir::Value, Content> contents;
  llvm::DenseMap<mlir::Value, std::optional<PartRows>> partsByRoot;
  llvm::DenseMap<mlir::Value, PlaceAttr> places;
  llvm::SmallVector<int64_t> inductions;
  llvm::SmallVector<int64_t> counts; ///< iterations of the enclosing repeats
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_PLANCHECKER_H
