//===- Signals.cpp - requests from outside a run ------------------------------===//

#include "runtime/train/Signals.h"

#include <csignal>
#include <cstring>

namespace tessera::runtime {

static volatile std::sig_atomic_t stopSignal = 0;
static volatile std::sig_atomic_t saveAsked = 0;

static void onStop(int signal) {
  stopSignal = signal;
  // The next one does what it does without us: it ends the process.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

static void onSave(int) { saveAsked = 1; }

static void handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  // Without SA_RESTART: a write that waits for a reader must not hold up the stop.
  sigaction(signal, &action, nullptr);
}

Signals::Signals() {
  stopSignal = 0;
  saveAsked = 0;
  handle(SIGINT, onStop);
  handle(SIGTERM, onStop);
  handle(SIGUSR1, onSave);
  // A file that may not grow is an error of the write, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nor is it the end that nobody reads what is printed.
  std::signal(SIGPIPE, SIG_IGN);
}

Signals::~Signals() {
  for (int signal : {SIGINT, SIGTERM, SIGUSR1}) std::signal(signal, SIG_DFL);
}

int Signals::stopRequested() const { return stopSignal; }

bool Signals::saveRequested() const { return saveAsked; }

void Signals::clearSaveRequest() { saveAsked = 0; }

} // namespace tessera::runtime
