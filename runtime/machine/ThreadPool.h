//===- ThreadPool.h - threads that wait briefly, then sleep ---------------===//
//
// The only pool of a process. oneDNN runs on it too: ThreadPool.cpp defines the functions of libgomp that oneDNN calls,
// and the dynamic linker prefers those of the executable. A second pool would oversubscribe the cores, and threads of
// libgomp spin for milliseconds: on a processor that is shared with other processes, a thread that spins uses up the
// time that the thread it waits for needs.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_THREADPOOL_H
#define TESSERA_RUNTIME_MACHINE_THREADPOOL_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tessera::runtime {

/// What to do if the system refuses threads, for a message. Their stacks count as memory.
inline constexpr const char *threadsAdvice =
    "lower --threads, or lift the limits on threads (ulimit -u) and memory (ulimit -v)";

/// How long a thread spins before it sleeps. Adapts: waits that end while the thread spins make the next spin longer,
/// others make it shorter.
class Patience {
public:
  /// Waits until `isOver()`, at most for the current time. Returns whether it is over.
  template <typename Condition> bool spin(Condition isOver);

private:
  int64_t nanoseconds = longest;
  /// About ten times what it takes to put a thread to sleep and wake it up, and much less than a time slice.
  static constexpr int64_t shortest = 1'000, longest = 100'000;
};

/// Lets one thread through each time that it is opened.
class alignas(64) Gate {
public:
  /// Called by one thread only: waits until the gate is open, and closes it.
  void pass();
  void open();

private:
  enum State : uint32_t { Closed, Open, ClosedAndAsleep };
  std::atomic<uint32_t> state = Closed;
  Patience patience;
};

/// Where a thread of the pool learns that it has a part in a region.
class alignas(64) Call {
public:
  /// The thread: waits until it is called, and begins.
  void await();
  /// The thread: it is done.
  void finish() { state.store(Idle, std::memory_order_release); }

  void call();
  /// Takes the call back. Returns false if the thread has begun.
  bool revoke();

private:
  enum State : uint32_t { Idle, Asleep, Called, Begun };
  std::atomic<uint32_t> state = Idle;
  Patience patience;
};

class ThreadPool {
public:
  /// The work of a region. It must not throw: the other threads still run, so an exception ends the process.
  using Body = void (*)(void *);

  /// The pool. It is never destroyed: its threads wait until the process ends.
  static ThreadPool &get();

  /// The number of threads of a region that does not name one.
  void setCount(int threads) { count = threads > 1 ? threads : 1; }
  int getCount() const { return count; }

  /// Runs `body` once for each number of a thread, and returns when all are done. The caller is thread 0. When it is
  /// done, it also runs the parts of the threads that have not begun by then: they may wait for a processor longer than
  /// all of the work takes. Inside of a region the caller runs `body` alone. If the system refuses threads, the region
  /// has fewer.
  void run(Body body, void *data, int threads) noexcept { runRegion(body, data, threads, true); }

  /// The same, but each thread runs its own part.
  void runOnEach(Body body, void *data, int threads) noexcept { runRegion(body, data, threads, false); }

  /// Inside a region: waits until all of its threads are here.
  void barrier();

  /// Of the calling thread: its number in the region, the region's number of threads, and whether there is a region.
  static int threadNumber();
  static int regionSize();
  static bool isInRegion();

private:
  ThreadPool();
  int startWorkers(int wanted);
  void work(int number, Call &calls);
  void runRegion(Body body, void *data, int threads, bool takesOver) noexcept;
  void runAlone(Body body, void *data);

  std::atomic<int> count;
  std::mutex inUse;                         ///< by one region at a time
  std::vector<std::unique_ptr<Call>> calls; ///< of each thread but the caller's
  Body body = nullptr;
  void *data = nullptr;
  int size = 1;               ///< threads of the region
  std::atomic<int> parts = 0; ///< that are not done
  Gate done;
  std::atomic<int> arrived = 0;     ///< at the barrier
  std::atomic<uint32_t> passed = 0; ///< barriers
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_THREADPOOL_H
