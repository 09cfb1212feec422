//===- Threads.h - the pool of threads that everything runs on ----------------===//
//
// One pool: libgomp's, which oneDNN uses too. Two pools would oversubscribe.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_THREADS_H
#define TESSERA_RUNTIME_THREADS_H

#include "runtime/Abi.h"

#include <cstdint>
#include <memory>

namespace tessera::runtime {

/// A contiguous range of iterations.
struct Range {
  int64_t begin = 0, end = 0;
};

/// The range of thread `thread` of `threads`: every range but the last is a multiple of `grain`, and
/// ranges differ by at most one grain. Depends on nothing else.
Range threadRange(int64_t iterations, int64_t grain, int thread, int threads);

class Threads {
public:
  /// Sets libgomp's (and so oneDNN's) number of threads and starts them.
  explicit Threads(int count);
  ~Threads();

  int count() const { return threads; }

  /// Memory of count() times `bytes`, 64-byte aligned, that kernels use as scratch from now on.
  void setScratch(char *memory, int64_t bytes) { scratch = memory, scratchBytes = bytes; }

  /// `TsrRuntime::parallelFor`.
  void parallelFor(TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain, int64_t piece = 0);

  /// `TsrRuntime::copy` and `zero`.
  void copy(void *dst, const void *src, int64_t bytes);
  void zero(void *dst, int64_t bytes);

  /// Keeps each thread on a processor of its own, of those that this process may use, in their order. False, and nothing is
  /// changed, if there are fewer than threads.
  bool bind();

  /// How many different threads take part in a parallel region: count() if all is well.
  int countRunning();

private:
  struct Share;

  int threads;
  std::unique_ptr<Share[]> shares; ///< of the kernel that runs, one a thread
  char *scratch = nullptr;
  int64_t scratchBytes = 0; ///< of one thread
};

/// Lets the calling thread, which is none of the pool's, run on all processors again: threads start bound as those that start them.
void unbindThisThread();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_THREADS_H
