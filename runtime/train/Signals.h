//===- Signals.h - signals that stop or save a run ------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_SIGNALS_H
#define TESSERA_RUNTIME_TRAIN_SIGNALS_H

namespace tessera::runtime {

/// Until a run handles signals: SIGUSR1, which may come at any time, waits instead of ending the process. To be called
/// when the process begins.
void holdSaveRequests();
/// For a process that is no run: SIGUSR1 has its effect again.
void releaseSaveRequests();

/// While it lives, SIGINT, SIGTERM and SIGHUP finish the step, save and stop, and SIGUSR1 saves and continues, also one
/// that was held. A second SIGINT or SIGTERM, at least a second after the first of these two, ends the process at once;
/// SIGHUP does not count, since a terminal that closes sends several. Signals that were ignored before stay ignored.
class Signals {
public:
  Signals();
  ~Signals();

  /// The first signal that asked to stop, or 0.
  int stopRequested() const;
  /// Whether a save was requested since the last one.
  bool saveRequested() const;
  void clearSaveRequest();
  /// The run is over: until the process ends it ignores SIGUSR1, and if a stop was requested, here or on another rank
  /// (`isStopped`), all four, so that the exit status is that of the run.
  void finish(bool isStopped = false);
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_SIGNALS_H
