// Every iteration runs exactly once, on all threads, in the documented ranges.

#include "runtime/machine/Threads.h"
#include "runtime/machine/ThreadPool.h"
#include "tests/runtime/RefusedThreads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <set>
#include <thread>
#include <vector>

using namespace tessera::runtime;
using tessera::tests::RefusedThreads;

extern "C" void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);

namespace {

struct Trace {
  std::vector<std::atomic<int>> visits;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::vector<Range> ranges;
  explicit Trace(int64_t size) : visits(size) {}
};

void visit(void *const *args, int64_t begin, int64_t end, void *) {
  Trace &trace = *static_cast<Trace *>(args[0]);
  for (int64_t i = begin; i < end; ++i) trace.visits[i] += 1;
  std::lock_guard lock(trace.mutex);
  trace.threads.insert(std::this_thread::get_id());
  trace.ranges.push_back({begin, end});
}

TEST(Threads, AllTakePart) {
  for (int count : {1, 2, 3, 4}) EXPECT_EQ(Threads(count).countRunning(), count);
}

/// A product that is subnormal, and one of a subnormal number.
void multiplySmall(void *const *args, int64_t begin, int64_t end, void *) {
  volatile float small = 1e-30f, subnormal = 1e-40f, large = 1e30f;
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float *>(args[0])[i] = small * 1e-10f;
    static_cast<float *>(args[1])[i] = subnormal * large;
  }
}

TEST(Threads, SubnormalNumbersAreZero) {
  for (int count : {1, 2, 3}) {
    Threads threads(count);
    std::vector<float> made(64, 1), read(64, 1);
    void *args[] = {made.data(), read.data()};
    threads.parallelFor(multiplySmall, args, 64, 1);
    EXPECT_EQ(made, std::vector<float>(64)) << count;
    EXPECT_EQ(read, std::vector<float>(64)) << count;
  }
}

/// Runs `body` on each thread of a region of the pool.
template <typename Body> void onEach(int threads, Body body) {
  ThreadPool::get().runOnEach([](void *data) { (*static_cast<Body *>(data))(); }, &body, threads);
}

TEST(Threads, EachIsPinnedToOneProcessor) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int count = std::min(2, CPU_COUNT(&before));
  Threads threads(count);
  ASSERT_TRUE(threads.bind());
  cpu_set_t own[2];
  onEach(count, [&] { sched_getaffinity(0, sizeof(cpu_set_t), &own[ThreadPool::threadNumber()]); });
  for (int i = 0; i < count; ++i) EXPECT_EQ(CPU_COUNT(&own[i]), 1);
  if (count == 2) {
    EXPECT_FALSE(CPU_EQUAL(&own[0], &own[1]));
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_FALSE(Threads(CPU_COUNT(&before) + 1).bind());
}

TEST(Threads, ParallelForCoversEachIndexOnce) {
  for (int count : {1, 2, 3, 4}) {
    Threads threads(count);
    for (int64_t iterations : {0, 1, 7, 64, 1000, 1001})
      for (auto [grain, piece] :
           {std::pair<int64_t, int64_t>{1, 0}, {1, 1}, {3, 0}, {3, 3}, {3, 10}, {64, 64}, {5000, 1}}) {
        Trace trace(iterations);
        void *args[] = {&trace};
        threads.parallelFor(visit, args, iterations, grain, piece);
        for (int64_t i = 0; i < iterations; ++i) ASSERT_EQ(trace.visits[i], 1) << i;
        for (Range range : trace.ranges) {
          EXPECT_EQ(range.begin % grain, 0);
          EXPECT_TRUE(range.end % grain == 0 || range.end == iterations);
        }
        EXPECT_LE(trace.threads.size(), static_cast<size_t>(count)); // the first one runs the parts of late ones
      }
  }
}

TEST(Threads, EachIndexIsCoveredIfTheSystemRefusesThreads) {
  for (int before : {1, 3}) { // threads that there are already
    Threads{before};
    RefusedThreads refused;
    Threads threads(9);
    ASSERT_LT(threads.countRunning(), 9);
    for (auto [grain, piece] : {std::pair<int64_t, int64_t>{1, 0}, {3, 3}, {3, 10}}) {
      Trace trace(1000);
      void *args[] = {&trace};
      threads.parallelFor(visit, args, 1000, grain, piece);
      for (int i = 0; i < 1000; ++i) ASSERT_EQ(trace.visits[i], 1) << i;
    }
  }
}

/// The thread with the first iteration waits until all that others may take has been taken.
void waitForOthers(void *const *args, int64_t begin, int64_t end, void *) {
  std::atomic<int64_t> &done = *static_cast<std::atomic<int64_t> *>(args[0]);
  int64_t iterations = *static_cast<int64_t *>(args[1]);
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (begin == 0 && done + end < iterations && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  done += end - begin;
}

TEST(Threads, IdleThreadsStealWork) {
  Threads threads(2);
  int64_t iterations = 160;
  std::atomic<int64_t> done = 0;
  void *args[] = {&done, &iterations};
  auto start = std::chrono::steady_clock::now();
  threads.parallelFor(waitForOthers, args, iterations, 1, 1);
  EXPECT_EQ(done, iterations);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Threads, RangesDifferByAtMostOneGrain) {
  for (int threads = 1; threads < 9; ++threads)
    for (int64_t iterations = 0; iterations < 100; ++iterations)
      for (int64_t grain : {1, 2, 7}) {
        int64_t at = 0, smallest = INT64_MAX, largest = 0;
        for (int t = 0; t < threads; ++t) {
          Range range = threadRange(iterations, grain, t, threads);
          ASSERT_EQ(range.begin, at);
          at = range.end;
          int64_t chunks = (range.end - range.begin + grain - 1) / grain;
          smallest = std::min(smallest, chunks), largest = std::max(largest, chunks);
        }
        ASSERT_EQ(at, iterations);
        ASSERT_LE(largest - smallest, 1);
      }
}

TEST(Threads, CopyAndZero) {
  Threads threads(2);
  for (int64_t size : {0, 1, 100, 1 << 20, (1 << 20) + 13}) {
    std::vector<char> from(size + 1, 'x'), to(size + 1, 'o');
    threads.copy(to.data(), from.data(), size);
    EXPECT_EQ(std::count(to.begin(), to.end(), 'x'), size);
    threads.zero(to.data(), size);
    EXPECT_EQ(std::count(to.begin(), to.end(), 0), size);
    EXPECT_EQ(to[size], 'o');
  }
}

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

/// Time that all threads of the process took of processors, in milliseconds.
double processorTime() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

constexpr auto delay = std::chrono::milliseconds(10);
constexpr int delays = 20;

void nothing(void *const *, int64_t, int64_t, void *) {}

TEST(Threads, SleepBetweenRegions) {
  Threads threads(2);
  double before = processorTime();
  for (int i = 0; i < delays; ++i) {
    threads.parallelFor(nothing, nullptr, 2, 1);
    std::this_thread::sleep_for(delay);
  }
  EXPECT_LT(processorTime() - before, 1.0 * delays);
}

/// The last thread is late.
void sleepIfLast(void *const *, int64_t begin, int64_t, void *) {
  if (begin > 0) std::this_thread::sleep_for(delay);
}

TEST(Threads, SleepWhileTheyWaitForTheOthers) {
  Threads threads(3);
  double before = processorTime();
  for (int i = 0; i < delays; ++i) threads.parallelFor(sleepIfLast, nullptr, 3, 1);
  EXPECT_LT(processorTime() - before, 2.0 * delays);
}

/// Runs `body` in a region of the pool.
template <typename Body> void inRegion(int threads, Body body) {
  ThreadPool::get().run([](void *data) { (*static_cast<Body *>(data))(); }, &body, threads);
}

TEST(Threads, EachIndexIsCoveredInsideOfARegion) {
  Threads threads(3);
  Trace trace(1000);
  void *args[] = {&trace};
  onEach(3, [&] { threads.parallelFor(visit, args, 1000, 3, 3); });
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(trace.visits[i], 3) << i;
}

TEST(ThreadPool, HasTheThreadsThatARegionAsksFor) {
  for (int size : {1, 3, 2, 5, 1, 4}) {
    std::vector<std::atomic<int>> visits(8);
    inRegion(size, [&] {
      visits[ThreadPool::threadNumber()] += 1;
      EXPECT_EQ(ThreadPool::regionSize(), size);
    });
    for (int i = 0; i < 8; ++i) EXPECT_EQ(visits[i], i < size) << size;
    EXPECT_FALSE(ThreadPool::isInRegion());
  }
}

TEST(ThreadPool, RunsThePartsOfThreadsThatHaveNotBegun) {
  // It takes longer to wake a thread than to run an empty body.
  auto caller = std::this_thread::get_id();
  std::atomic<int> parts = 0, ofOthers = 0;
  for (int i = 0; i < delays; ++i) {
    std::this_thread::sleep_for(delay);
    inRegion(3, [&] {
      ++parts;
      if (ThreadPool::threadNumber() > 0 && std::this_thread::get_id() == caller) ++ofOthers;
    });
  }
  EXPECT_EQ(parts, 3 * delays);
  EXPECT_GT(ofOthers, 0);
}

TEST(ThreadPool, RunsOnEachThreadIfAsked) {
  std::set<std::thread::id> ids;
  std::mutex mutex;
  onEach(3, [&] {
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3u);
}

TEST(ThreadPool, ItsThreadsLeaveSignalsToTheCaller) {
  std::atomic<int> open = 0, withoutFaults = 0;
  onEach(3, [&] {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    if (!sigismember(&blocked, SIGINT) || !sigismember(&blocked, SIGTERM)) ++open;
    if (sigismember(&blocked, SIGBUS)) ++withoutFaults;
  });
  EXPECT_EQ(open, 1);
  EXPECT_EQ(withoutFaults, 0);
}

TEST(ThreadPool, RunsARegionInsideOfARegionOnItsThread) {
  std::atomic<int> inner = 0;
  inRegion(3, [&] {
    int number = ThreadPool::threadNumber();
    auto id = std::this_thread::get_id();
    inRegion(3, [&] {
      inner += 1;
      EXPECT_EQ(std::this_thread::get_id(), id);
      EXPECT_EQ(ThreadPool::regionSize(), 1);
      EXPECT_TRUE(ThreadPool::isInRegion());
    });
    EXPECT_EQ(ThreadPool::threadNumber(), number);
    EXPECT_EQ(ThreadPool::regionSize(), 3);
  });
  EXPECT_EQ(inner, 3);
}

TEST(ThreadPool, RegionsInsideEndIfTheSystemRefusesThreads) {
  RefusedThreads refused;
  int most = 64;
  std::atomic<int> outer = 0, inner = 0;
  inRegion(most, [&] {
    EXPECT_LT(ThreadPool::regionSize(), most);
    inRegion(most, [&] { inner += 1; });
    outer += 1;
  });
  EXPECT_LT(outer, most);
  EXPECT_EQ(inner, outer);
}

TEST(ThreadPool, ExceptionsEndTheProcess) {
  EXPECT_DEATH(inRegion(1, [] { throw std::bad_alloc(); }), "bad_alloc");
}

TEST(ThreadPool, BarriersSeparateWhatComesBeforeAndAfter) {
  constexpr int size = 4, rounds = 500;
  std::vector<std::atomic<int>> round(size);
  std::atomic<int> wrong = 0;
  inRegion(size, [&] {
    for (int i = 1; i <= rounds; ++i) {
      round[ThreadPool::threadNumber()] = i;
      ThreadPool::get().barrier();
      for (const std::atomic<int> &other : round) wrong += other != i;
      ThreadPool::get().barrier();
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadPool, ServesSeveralCallers) {
  std::atomic<int> visits = 0;
  std::vector<std::thread> callers;
  constexpr int regions = 300;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      for (int region = 0; region < regions; ++region) inRegion(2, [&] { visits += 1; });
    });
  for (std::thread &caller : callers) caller.join();
  EXPECT_EQ(visits, 3 * 2 * regions);
}

TEST(ThreadPool, IsTheOneThatOnednnUses) {
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "GOMP_parallel"), reinterpret_cast<void *>(&GOMP_parallel));
  std::atomic<int> visits = 0;
  GOMP_parallel([](void *data) { *static_cast<std::atomic<int> *>(data) += ThreadPool::regionSize(); }, &visits, 3, 0);
  EXPECT_EQ(visits, 9);
}

} // namespace
