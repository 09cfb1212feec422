//===- ThreadPool.cpp - threads that wait briefly, then sleep -------------===//

#include "runtime/machine/ThreadPool.h"
#include "runtime/machine/AvailableCores.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tessera::runtime {

namespace {
struct Place {
  int number = 0, size = 1;
  bool isInRegion = false;
};
} // namespace

static thread_local Place place;

int ThreadPool::threadNumber() { return place.number; }
int ThreadPool::regionSize() { return place.size; }
bool ThreadPool::isInRegion() { return place.isInRegion; }

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

static void pause() {
#ifdef __x86_64__
  _mm_pause();
#endif
}

template <typename Condition> bool Patience::spin(Condition isOver) {
  using Clock = std::chrono::steady_clock;
  constexpr int checksPerReading = 16; // of the clock
  auto end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  do
    for (int i = 0; i < checksPerReading; ++i) {
      if (isOver()) {
        nanoseconds = std::min(2 * nanoseconds, longest);
        return true;
      }
      pause();
    }
  while (Clock::now() < end);
  nanoseconds = std::max(nanoseconds / 2, shortest);
  return false;
}

void Gate::pass() {
  if (!patience.spin([&] { return state.load(std::memory_order_acquire) == Open; })) {
    uint32_t expected = Closed;
    if (state.compare_exchange_strong(expected, ClosedAndAsleep, std::memory_order_acquire))
      while (state.load(std::memory_order_acquire) == ClosedAndAsleep) state.wait(ClosedAndAsleep); // a futex
  }
  state.store(Closed, std::memory_order_relaxed);
}

void Gate::open() {
  if (state.exchange(Open, std::memory_order_acq_rel) == ClosedAndAsleep) state.notify_one();
}

void Call::await() {
  uint32_t called = Called;
  while (!state.compare_exchange_weak(called, Begun, std::memory_order_acq_rel)) {
    called = Called;
    auto isCalled = [&] { return state.load(std::memory_order_relaxed) == Called; };
    if (isCalled() || patience.spin(isCalled)) continue;
    uint32_t idle = Idle;
    if (state.compare_exchange_strong(idle, Asleep, std::memory_order_relaxed)) state.wait(Asleep); // a futex
  }
}

void Call::call() {
  if (state.exchange(Called, std::memory_order_acq_rel) == Asleep) state.notify_one();
}

bool Call::revoke() {
  uint32_t called = Called;
  return state.compare_exchange_strong(called, Idle, std::memory_order_acq_rel);
}

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

ThreadPool::ThreadPool() : count(availableCores()) {}

ThreadPool &ThreadPool::get() {
  static ThreadPool &pool = *new ThreadPool;
  return pool;
}

/// Starts what is missing. Returns the size of a region of `wanted` threads.
int ThreadPool::startWorkers(int wanted) {
  try {
    while (static_cast<int>(calls.size()) + 1 < wanted) {
      auto own = std::make_unique<Call>();
      calls.reserve(calls.size() + 1); // so that each thread that is started has its call in the list
      std::thread([this, &call = *own, number = static_cast<int>(calls.size()) + 1] { work(number, call); }).detach();
      calls.push_back(std::move(own));
    }
  } catch (const std::exception &) { // the system refuses threads or memory: the region has those that there are
  }
  return std::min(wanted, static_cast<int>(calls.size()) + 1);
}

/// Leaves signals to the thread that started the pool: it has a stack for their handlers (runtime/train/Signals.cpp).
static void blockSignals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&blocked, fault);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
}

void ThreadPool::work(int number, Call &own) {
  blockSignals();
  while (true) {
    own.await();
    place = {number, size, true};
    body(data);
    own.finish();
    if (parts.fetch_sub(1, std::memory_order_acq_rel) == 1) done.open();
  }
}

void ThreadPool::runAlone(Body body, void *data) {
  Place outer = place;
  place = {0, 1, outer.isInRegion};
  body(data);
  place = outer;
}

void ThreadPool::runRegion(Body newBody, void *newData, int threads, bool takesOver) noexcept {
  if (threads <= 0) threads = count;
  if (threads == 1 || place.isInRegion) return runAlone(newBody, newData);
  std::unique_lock lock(inUse);
  size = startWorkers(threads);
  if (size == 1) {
    lock.unlock(); // a region inside of this one takes it
    return runAlone(newBody, newData);
  }
  body = newBody, data = newData;
  parts.store(size, std::memory_order_relaxed); // the calls publish it
  for (int number = 1; number < size; ++number) calls[number - 1]->call();
  place = {0, size, true};
  body(data);
  int ran = 1;
  // All threads of a region reach the same barriers. This one is done, so there are none left to wait for.
  for (int number = 1; takesOver && number < size; ++number) {
    if (!calls[number - 1]->revoke()) continue;
    place.number = number;
    body(data);
    ++ran;
  }
  place = {};
  if (parts.fetch_sub(ran, std::memory_order_acq_rel) != ran) done.pass();
}

void ThreadPool::barrier() {
  if (place.size == 1) return;
  uint32_t before = passed.load(std::memory_order_acquire);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == place.size) {
    arrived.store(0, std::memory_order_relaxed);
    passed.fetch_add(1, std::memory_order_release);
    passed.notify_all();
    return;
  }
  auto isOver = [&] { return passed.load(std::memory_order_acquire) != before; };
  thread_local Patience patience;
  if (!patience.spin(isOver))
    while (!isOver()) passed.wait(before);
}

} // namespace tessera::runtime

//===----------------------------------------------------------------------===//
// What oneDNN calls of libgomp
//===----------------------------------------------------------------------===//

using tessera::runtime::ThreadPool;

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned) {
  ThreadPool::get().run(body, data, static_cast<int>(threads));
}
void GOMP_barrier(void) { ThreadPool::get().barrier(); }
int omp_get_thread_num(void) { return ThreadPool::threadNumber(); }
int omp_get_num_threads(void) { return ThreadPool::regionSize(); }
int omp_in_parallel(void) { return ThreadPool::isInRegion(); }
int omp_get_max_threads(void) { return ThreadPool::get().getCount(); }
void omp_set_num_threads(int threads) { ThreadPool::get().setCount(threads); }
}
