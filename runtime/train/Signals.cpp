//===- Signals.cpp - signals that stop or save a run ----------------------===//

#include "runtime/train/Signals.h"

#include "runtime/base/ReplacementFile.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/mman.h>

namespace tessera::runtime {

static volatile std::sig_atomic_t stopSignal = 0;
static volatile std::sig_atomic_t saveAsked = 0;

/// Whether a handler of ours is installed.
static bool caught(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL;
}

/// The time of the first SIGINT or SIGTERM in milliseconds; 0: none yet.
static std::atomic<int64_t> firstStop = 0;
static_assert(std::atomic<int64_t>::is_always_lock_free); // it is used in a signal handler

/// Signals within this time are one request: `timeout` and job managers send them to the process and to its group.
static constexpr int64_t sameRequest = 1000;

static void onStop(int signal) {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t now = int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1000000, first = 0;
  if (!stopSignal) stopSignal = signal;
  if (firstStop.compare_exchange_strong(first, now) || now - first < sameRequest) return;
  // The second one has its default effect: it ends the process.
  TemporaryName::removeAll();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// A closing terminal sends SIGHUP twice, from the shell and from the system, and perhaps SIGTERM. So it begins a stop
/// and never ends the process.
static void onHangup(int signal) {
  if (!stopSignal) stopSignal = signal;
}

static void onSave(int) { saveAsked = 1; }

/// Gives this thread, which runs the steps and gets the signals, another stack for handlers. On the same stack a signal
/// during a contraction of oneDNN damaged the heap (docs/cpu.md, Signals). (Threads of the pool block signals.)
static void useOwnStack() {
  stack_t now = {};
  if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE))
    return; // an earlier one, or a sanitizer's, serves
  stack_t own = {};
  own.ss_size = 256 << 10; // the registers of all kinds of processors, and what handlers call
  own.ss_sp = mmap(nullptr, own.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own.ss_sp != MAP_FAILED) sigaltstack(&own, nullptr); // kept until the process ends
}

/// A signal that was ignored at the start (nohup, a background job) stays ignored.
static void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  // Without SA_RESTART: a write that waits for a reader must not delay the stop.
  sigaction(signal, &action, nullptr);
}

static void changeMask(int how) {
  sigset_t save;
  sigemptyset(&save);
  sigaddset(&save, SIGUSR1);
  pthread_sigmask(how, &save, nullptr);
}

void holdSaveRequests() { changeMask(SIG_BLOCK); }
void releaseSaveRequests() { changeMask(SIG_UNBLOCK); }

Signals::Signals() {
  stopSignal = 0;
  firstStop = 0;
  saveAsked = 0;
  useOwnStack();
  handle(SIGINT, onStop);
  handle(SIGTERM, onStop);
  handle(SIGHUP, onHangup);
  handle(SIGUSR1, onSave);
  releaseSaveRequests();
  // A closed pipe is an error of the write, not fatal.
  std::signal(SIGPIPE, SIG_IGN);
}

Signals::~Signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    if (caught(signal)) std::signal(signal, SIG_DFL);
}

int Signals::stopRequested() const { return stopSignal; }

bool Signals::saveRequested() const { return saveAsked; }

void Signals::clearSaveRequest() { saveAsked = 0; }

void Signals::finish(bool isStopped) {
  std::signal(SIGUSR1, SIG_IGN);
  if (!stopSignal && !isStopped) return;
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
}

} // namespace tessera::runtime
