//===- ScratchPlaces.h - where kernels have their scratch memory ----------===//
//
// A kernel's scratch memory is used while it runs, so it may lie wherever nothing is live then: most kernels run where
// fewer bytes are live than at the peak. How much a kernel needs is known once it has been generated, when all values
// have their places. Where no range is large enough, values can be packed again beside what is needed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_MEMORY_SCRATCHPLACES_H
#define TESSERA_PASSES_MEMORY_SCRATCHPLACES_H

#include "passes/analysis/Timeline.h"
#include "passes/memory/OccupiedSpace.h"
#include "passes/memory/Offsets.h"
#include <optional>

namespace tessera {

/// The scratch memory of the kernels of an entry function of a scheduled module.
class ScratchPlaces {
public:
  /// `plannedBytes`: the arena that `schedule` planned.
  ScratchPlaces(mlir::func::FuncOp function, int64_t plannedBytes, int threads);

  /// The offset of `bytes` bytes for each thread, for the launch that begins with `first`: where an earlier kernel had
  /// its own, which is likely to be in a cache, or else in the tightest range in which nothing is live, or else on top
  /// of what is live.
  int64_t place(mlir::Operation *first, int64_t bytes);

  mlir::func::FuncOp getFunction() const { return function; }
  /// The bytes that were placed for a launch that begins with `first`.
  std::optional<ByteRange> of(mlir::Operation *first) const;
  bool isEmpty() const { return places.empty(); }
  /// The lifetimes of all of it, in the order of the program.
  llvm::SmallVector<Lifetime> lifetimes() const;
  /// The end of the highest place so far, at least the planned bytes.
  int64_t getEnd() const { return end; }
  /// What is live while a kernel runs with its scratch memory, where that is most: no places need less.
  int64_t leastBytes() const;

private:
  void findLiveRanges();

  mlir::func::FuncOp function;
  int64_t end;
  int threads;
  std::optional<Timeline> line; ///< none until something is placed
  std::optional<OccupiedSpace> live;
  llvm::SmallVector<int64_t> offsets; ///< that were used, the last one first
  llvm::DenseMap<mlir::Operation *, ByteRange> places;
};

} // namespace tessera

#endif // TESSERA_PASSES_MEMORY_SCRATCHPLACES_H
