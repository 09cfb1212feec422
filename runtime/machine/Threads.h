//===- Threads.h - the threads of a program -------------------------------===//
//
// How kernels, copies and initialisations are shared by the threads of ThreadPool.h.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_THREADS_H
#define TESSERA_RUNTIME_MACHINE_THREADS_H

#include "runtime/Abi.h"

#include <cstdint>
#include <memory>

namespace tessera::runtime {

/// A contiguous range of iterations.
struct Range {
  int64_t begin = 0, end = 0;
};

/// The range of thread `thread` of `threads`: every range but the last is a multiple of `grain`, and ranges differ by
/// at most one grain. It depends on the arguments only.
Range threadRange(int64_t iterations, int64_t grain, int thread, int threads);

/// The scratch memory of a kernel: `bytes` for each thread, one after the other, 64-byte aligned.
struct ThreadScratch {
  char *memory = nullptr;
  int64_t bytes = 0;

  char *ofThread(int thread) const { return memory + thread * bytes; }
};

class Threads {
public:
  /// Sets the number of threads of the pool (and so of oneDNN), and starts them.
  explicit Threads(int count);
  ~Threads();

  int count() const { return threads; }

  /// `TsrRuntime::parallelFor`; the scratch memory is that of count() threads.
  void parallelFor(TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain, int64_t piece = 0,
                   ThreadScratch scratch = {});

  /// `TsrRuntime::copy` and `zero`.
  void copy(void *dst, const void *src, int64_t bytes);
  void zero(void *dst, int64_t bytes);

  /// Pins each thread to a processor, in the order of those that this process may use. Returns false, and changes
  /// nothing, if there are fewer processors than threads.
  bool bind();

  /// Number of different threads in a parallel region: count(), unless something is wrong.
  int countRunning();

private:
  struct Share;

  int threads;
  std::unique_ptr<Share[]> shares; ///< of the running kernel, one for each thread
};

/// Lets the calling thread, which does not belong to the pool, run on all processors again: threads inherit the
/// affinity of their creator.
void unbindThisThread();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_THREADS_H
