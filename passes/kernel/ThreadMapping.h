//===- ThreadMapping.h - which GPU thread computes which points -----------===//
//
// This analysis changes nothing. `schedule` asks it which kernels fit in one launch; code generation follows it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PASSES_KERNEL_THREADMAPPING_H
#define TESSERA_PASSES_KERNEL_THREADMAPPING_H

#include "ir/program/Target.h"
#include "passes/kernel/KernelPlan.h"

namespace tessera {

/// The widest access of a thread, in bytes; its address is a multiple of them.
inline constexpr int64_t vectorBytes = 16;

/// Static shared memory of a block, in bytes.
inline constexpr int64_t sharedBytes = 48 << 10;

/// Threads of a block, unless a kernel asks for another size.
inline constexpr int64_t defaultBlock = 256;

/// How the points of a kernel are mapped to threads. A *point* is an iteration of the parallel loops, or `vector`
/// consecutive ones where the vector loop is parallel. A *thread group* computes a point and shares its serial loops.
/// None of this depends on `alignments`, so neither does the order of a sum.
struct ThreadMapping {
  int64_t block = defaultBlock; ///< threads
  int64_t vector = 1;           ///< consecutive elements along the vector loop that a thread computes at once
  int64_t group = 1;            ///< threads of a point: a power of two
  /// Whether the threads of a group are `block / group` apart, so that adjacent threads work on adjacent points. Else
  /// the threads of a group are adjacent.
  bool strided = false;
  int64_t registerVectors = 0; ///< serial vectors that a thread holds in registers from one sweep to the next
  int64_t points = 1;          ///< of the kernel, without those of the tail
  int64_t pointsEach = 1;      ///< points that a thread computes, `block` apart, in kernels without serial loops
  int64_t serialCount = 1;     ///< whole serial vectors of a point
  /// Serial iterations of a point that are no part of a whole vector; without serial loops: such iterations of the
  /// kernel.
  int64_t tailCount = 0;
  /// Of a scatter: positions of the result that a block owns, at most, at `ownPoints` points; 0: a thread owns its
  /// point at all positions.
  int64_t ownPositions = 0, ownPoints = 1;
  /// Blocks on a multiprocessor that share its registers; 0: as many as the threads' registers allow.
  int64_t residentBlocks = 0;
  int64_t positions = 1;                 ///< of the result that a scatter adds at
  llvm::SmallVector<int64_t> alignments; ///< of the arguments' addresses, in bytes: operands, then results
  /// For each argument: whether it is accessed once and is larger than the cache, so that accesses are streaming.
  llvm::SmallVector<bool> streams;

  int64_t pointsOfBlock() const { return block / group * pointsEach; }
  /// Blocks among which the positions of a scatter are dealt out in turn, and those that share a position's points.
  int64_t positionBlocks() const { return llvm::divideCeil(positions, ownPositions); }
  int64_t slabs() const { return llvm::divideCeil(points, ownPoints); }
  int64_t blocks() const {
    return ownPositions > 0 ? positionBlocks() * slabs() : llvm::divideCeil(points, pointsOfBlock());
  }
};

/// Whether a value is the same at all points of a kernel that has several: it stays in the cache.
bool isSharedByPoints(const KernelPlan &plan, mlir::Value value);

/// 32-bit registers of a thread that hold one vector of each of `reads`, or one element where they are equal along the
/// vector loop.
int64_t vectorRegisters(const KernelPlan &plan, llvm::ArrayRef<mlir::Value> reads, int64_t vector);

/// Values that differ between points and that more than one sweep loads from memory, in the plan's order.
llvm::SmallVector<mlir::Value> repeatedlyRead(const KernelPlan &plan);

/// `alignments`: of each operand's address, then each result's, in bytes.
ThreadMapping mapThreads(const KernelPlan &plan, const Target &target, llvm::ArrayRef<int64_t> alignments);

/// How a GPU divides the sums of a kernel among threads, on which the order of their terms depends.
struct SumOrder {
  int64_t vector; ///< as in ThreadMapping
  int64_t group;
  bool operator==(const SumOrder &) const = default;
};

/// None if the target is no GPU, if the kernel has no sums, and if it cannot be planned.
std::optional<SumOrder> orderOfSums(KernelOp kernel, const Target &target);

/// Records an order (`tsr.sums`) in a kernel that would have another one. What a kernel writes has a part in the width
/// of its vectors, but a sum must not depend on which results of its kernel are still read.
void keepOrderOfSums(KernelOp kernel, const SumOrder &order, const Target &target);

/// Reports what is recorded if it is no order of a GPU's sums.
llvm::LogicalResult checkOrderOfSums(KernelOp kernel);

/// The same for blocks of another size, a power of two that is no smaller than a thread group. The order of sums does
/// not change.
ThreadMapping withBlock(const ThreadMapping &mapping, int64_t block);

/// Upper bound of the shared memory, in bytes, in which the threads of a block exchange partial results. Of kernels
/// without a scatter.
int64_t scratchBytes(const KernelPlan &plan, const ThreadMapping &mapping);

/// Whether an access is streaming: it moves whole 16-byte words of a tensor that streams.
bool isStreaming(const Access &access, const ThreadMapping &mapping);

/// Whether an access along the vector loop moves a whole vector at once: vectors start at a multiple of their size.
bool isVectorAccess(const KernelPlan &plan, const Access &access, const ThreadMapping &mapping);

} // namespace tessera

#endif // TESSERA_PASSES_KERNEL_THREADMAPPING_H
