//===- Signals.cpp - requests from outside a run ------------------------------===//

#include "runtime/train/Signals.h"

#include <csignal>
#include <cstring>

namespace tessera::runtime {

static volatile std::sig_atomic_t stopSignal = 0;
static volatile std::sig_atomic_t saveAsked = 0;

/// Whether it is neither ignored nor left to the system.
static bool caught(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN && action.sa_handler != SIG_DFL;
}

static void onStop(int signal) {
  stopSignal = signal;
  // The next one does what it does without us: it ends the process.
  for (int other : {SIGINT, SIGTERM})
    if (caught(other)) std::signal(other, SIG_DFL);
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
