//===- Signals.cpp - requests from outside a run ------------------------------===//

#include "runtime/train/Signals.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <ctime>

namespace tessera::runtime {

static volatile std::sig_atomic_t stopSignal = 0;
static volatile std::sig_atomic_t saveAsked = 0;

/// Whether it is neither ignored nor left to the system.
static bool caught(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL;
}

/// When the first SIGINT or SIGTERM came, in milliseconds; 0: none has.
static std::atomic<int64_t> firstStop = 0;
static_assert(std::atomic<int64_t>::is_always_lock_free); // it is used in a signal handler

/// Signals that come so soon after another are one request: `timeout` and managers of jobs send them to the process and to its group.
static constexpr int64_t sameRequest = 1000;

static void onStop(int signal) {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  int64_t now = int64_t(time.tv_sec) * 1000 + time.tv_nsec / 1000000, first = 0;
  stopSignal = signal;
  if (firstStop.compare_exchange_strong(first, now) || now - first < sameRequest) return;
  // This one does what it does without us: it ends the process.
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// A terminal that goes away says so twice, as the shell and as the system, and SIGTERM may come with it.
static void onHangup(int signal) {
  if (!stopSignal) stopSignal = signal;
}

static void onSave(int) { saveAsked = 1; }

/// A signal that was ignored at the start (nohup, a job in the background) stays ignored.
static void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = handler;
  // Without SA_RESTART: a write that waits for a reader must not hold up the stop.
  sigaction(signal, &action, nullptr);
}

Signals::Signals() {
  stopSignal = 0;
  firstStop = 0;
  saveAsked = 0;
  handle(SIGINT, onStop);
  handle(SIGTERM, onStop);
  handle(SIGHUP, onHangup);
  handle(SIGUSR1, onSave);
  // A file that may not grow is an error of the write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nor is it the end that nobody reads what is printed.
  std::signal(SIGPIPE, SIG_IGN);
}

Signals::~Signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
    if (caught(signal)) std::signal(signal, SIG_DFL);
}

int Signals::stopRequested() const { return stopSignal; }

bool Signals::saveRequested() const { return saveAsked; }

void Signals::clearSaveRequest() { saveAsked = 0; }

} // namespace tessera::runtime
