//===- Threads.cpp - the threads of a program -----------------------------===//

#include "runtime/machine/Threads.h"
#include "runtime/machine/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sched.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace tessera::runtime {

/// Calls `body` from the form that the pool takes.
template <typename Body> static void callBody(void *body) { (*static_cast<Body *>(body))(); }

/// Runs `body` on each thread and waits for them.
template <typename Body> static void onAllThreads(int threads, Body &body) {
  ThreadPool::get().runOnEach(callBody<Body>, &body, threads);
}

Range threadRange(int64_t iterations, int64_t grain, int thread, int threads) {
  grain = std::max<int64_t>(grain, 1);
  int64_t chunks = (iterations + grain - 1) / grain;
  // If the chunks do not divide evenly, the last threads take one more: the last chunk may be a short one.
  int64_t without = threads - chunks % threads;
  int64_t begin = chunks / threads * thread + std::max<int64_t>(thread - without, 0);
  int64_t size = chunks / threads + (thread >= without);
  return {std::min(begin * grain, iterations), std::min((begin + size) * grain, iterations)};
}

/// A thread's range: its initial block, and the rest, which is subject to work stealing.
struct alignas(64) Threads::Share {
  Range first;
  int64_t piece = 1, end = 0;
  std::atomic<int64_t> next = 0; ///< of the rest

  void set(Range range, int64_t grain, int64_t leastPiece);
  /// Runs share `thread` of `threads`: its own range first, then the rest of others.
  template <typename Run> static void runAll(Share *shares, int thread, int threads, Run run);
};

void Threads::Share::set(Range range, int64_t grain, int64_t leastPiece) {
  // Threads of one processor rarely differ by more; smaller blocks cost more in calls than they save in waiting.
  constexpr int64_t restPart = 6, pieces = 4;
  int64_t chunks = (range.end - range.begin + grain - 1) / grain, rest = chunks / restPart;
  int64_t least = (leastPiece + grain - 1) / grain, size = std::max<int64_t>({(rest + pieces - 1) / pieces, least, 1});
  if (leastPiece == 0 || rest < size) rest = 0;
  int64_t middle = rest > 0 ? range.begin + (chunks - rest) * grain : range.end;
  first = {range.begin, middle};
  piece = size * grain;
  end = range.end;
  next.store(middle, std::memory_order_relaxed); // the start of the parallel region publishes it
}

template <typename Run> void Threads::Share::runAll(Share *shares, int thread, int threads, Run run) {
  if (Range first = shares[thread].first; first.begin < first.end) run(first);
  for (int i = 0; i < threads; ++i) {
    Share &share = shares[(thread + i) % threads];
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      int64_t from = share.next.fetch_add(share.piece, std::memory_order_relaxed);
      if (from < share.end) run({from, std::min(from + share.piece, share.end)});
    }
  }
}

/// Sets the calling thread's arithmetic to treat subnormals as zero, in operands and results. (Processors make an
/// exception for 16-bit elements that are widened.)
static void flushSubnormals() {
#ifdef __x86_64__
  constexpr unsigned flushToZero = 0x8000, subnormalsAreZero = 0x0040; // Intel, volume 1, section 10.2.3
  _mm_setcsr(_mm_getcsr() | flushToZero | subnormalsAreZero);
#endif
}

Threads::Threads(int count) : threads(count), shares(std::make_unique<Share[]>(count)) {
  ThreadPool::get().setCount(count);
  auto flush = [] { flushSubnormals(); };
  onAllThreads(threads, flush);
}

Threads::~Threads() = default;

void Threads::parallelFor(TsrKernel kernel, void *const *args, int64_t iterations, int64_t grain, int64_t piece,
                          ThreadScratch scratch) {
  if (iterations <= 0) return;
  // Too little work: waking the other threads would cost more than it saves. Inside of a region: the shares are in use.
  if (iterations <= grain || threads == 1 || ThreadPool::isInRegion())
    return kernel(args, 0, iterations, scratch.ofThread(ThreadPool::threadNumber()));
  for (int thread = 0; thread < threads; ++thread)
    shares[thread].set(threadRange(iterations, grain, thread, threads), std::max<int64_t>(grain, 1), piece);
  auto run = [&] {
    char *own = scratch.ofThread(ThreadPool::threadNumber());
    auto runRange = [&](Range range) { kernel(args, range.begin, range.end, own); };
    // One share, unless the system refused threads: then the region has fewer threads than there are shares.
    for (int share = ThreadPool::threadNumber(); share < threads; share += ThreadPool::regionSize())
      Share::runAll(shares.get(), share, threads, runRange);
  };
  ThreadPool::get().run(callBody<decltype(run)>, &run, threads);
}

/// Below this size one thread is done before the others are awake.
static constexpr int64_t worthSharing = 256 << 10;

static void copyShare(void *const *args, int64_t begin, int64_t end, void *) {
  memcpy(static_cast<char *>(args[1]) + begin, static_cast<const char *>(args[0]) + begin, end - begin);
}

static void zeroShare(void *const *args, int64_t begin, int64_t end, void *) {
  memset(static_cast<char *>(args[0]) + begin, 0, end - begin);
}

void Threads::copy(void *dst, const void *src, int64_t bytes) {
  void *args[] = {const_cast<void *>(src), dst};
  parallelFor(copyShare, args, bytes, bytes < worthSharing ? bytes : 4096);
}

void Threads::zero(void *dst, int64_t bytes) {
  void *args[] = {dst};
  parallelFor(zeroShare, args, bytes, bytes < worthSharing ? bytes : 4096);
}

/// The processors of the process, once bind() was called.
static cpu_set_t unbound;
static bool isBound = false;

static void bindThread(const cpu_set_t &allowed) {
  int left = ThreadPool::threadNumber(), processor = 0;
  while (!CPU_ISSET(processor, &allowed) || left-- > 0) ++processor;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  sched_setaffinity(0, sizeof(own), &own); // of the calling thread
}

bool Threads::bind() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) < threads) return false;
  unbound = allowed;
  isBound = true;
  auto bindOwn = [&] { bindThread(allowed); };
  onAllThreads(threads, bindOwn);
  return true;
}

void unbindThisThread() {
  if (isBound) sched_setaffinity(0, sizeof(unbound), &unbound);
}

int Threads::countRunning() {
  std::atomic<int> arrived = 0;
  auto arrive = [&] { arrived.fetch_add(1); };
  onAllThreads(threads, arrive);
  return arrived;
}

} // namespace tessera::runtime
