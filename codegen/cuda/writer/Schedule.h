//===- Schedule.h - how threads share the points of a kernel ----------------===//

#ifndef TESSERA_CODEGEN_CUDA_SCHEDULE_H
#define TESSERA_CODEGEN_CUDA_SCHEDULE_H

#include "codegen/plan/KernelPlan.h"

namespace tessera::cuda {

/// What schedules are chosen by.
struct Device {
  std::string name = "h100";
  int64_t multiprocessors = 132;
  int64_t threadsEach = 2048;             ///< of a multiprocessor
  int64_t cacheBytes = int64_t(50) << 20; ///< of the cache that all multiprocessors share

  /// One of that architecture: 90 for sm_90a (CUDA C++ Programming Guide, compute capabilities; data sheets).
  static Device of(int architecture);
};

/// A thread moves at most so many bytes at once, from a multiple of them.
inline constexpr int64_t vectorBytes = 16;

/// Shared memory of a block that need not be asked for.
inline constexpr int64_t sharedBytes = 48 << 10;

/// How the points of a kernel are laid over threads. A *point* is one of the parallel loops, or `vector` neighbouring ones where
/// the vector loop is parallel; a *team* of threads computes a point, and shares its serial loops.
struct KernelSchedule {
  int64_t block = 256; ///< threads
  int64_t vector = 1;  ///< neighbours along the vector loop that a thread computes at once
  int64_t team = 1;    ///< threads of a point: a power of two
  /// Whether the threads of a team stand `block / team` apart, so that neighbours work on neighbouring points; else they are
  /// neighbours.
  bool strided = false;
  int64_t kept = 0;        ///< serial vectors of a thread that stay in registers from one sweep to the next; 0: none do
  int64_t points = 1;      ///< of the kernel
  int64_t serialCount = 1; ///< serial vectors of a point
  /// Of a scatter: positions of the result that a block owns, at all points; 0: a thread owns its point at all positions.
  int64_t ownPositions = 0;
  int64_t positions = 1;                 ///< of the result that a scatter adds at
  llvm::SmallVector<int64_t> alignments; ///< of the arguments' addresses, in bytes: operands, then results
  /// Of the arguments: whether nobody will find their numbers in the cache again. They are larger than it, and met once.
  llvm::SmallVector<bool> streams;

  int64_t pointsOfBlock() const { return block / team; }
  int64_t blocks() const {
    return ownPositions > 0 ? llvm::divideCeil(positions, ownPositions) : llvm::divideCeil(points, pointsOfBlock());
  }
};

/// Element values that are read from memory in more than one sweep, in the plan's order.
llvm::SmallVector<mlir::Value> readAgain(const KernelPlan &plan);

/// `alignments`: of each operand's address, then each result's, in bytes.
KernelSchedule chooseSchedule(const KernelPlan &plan, const Device &device, llvm::ArrayRef<int64_t> alignments);

/// The same for blocks of another size, a power of two that is no smaller than a team. Sums keep their order.
KernelSchedule withBlock(const KernelSchedule &schedule, int64_t block);

/// Bytes of shared memory that the threads of a block exchange numbers in, at most; of a kernel that does not scatter.
int64_t scratchBytes(const KernelPlan &plan, const KernelSchedule &schedule);

/// Whether an access of the schedule's neighbours passes by the cache: of whole words of 16 bytes, in a tensor that streams.
bool isStreaming(const Access &access, const KernelSchedule &schedule);

/// Whether an access along the vector loop moves the schedule's neighbours at once: they start at a multiple of what is moved.
bool isVectorAccess(const KernelPlan &plan, const Access &access, const KernelSchedule &schedule);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_SCHEDULE_H
