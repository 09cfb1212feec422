//===- Signals.h - signals that stop or save a run ------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_SIGNALS_H
#define TESSERA_RUNTIME_TRAIN_SIGNALS_H

namespace tessera::runtime {

/// While it lives, SIGINT, SIGTERM and SIGHUP finish the step, save and stop (a second SIGINT or SIGTERM, at least a
/// second later, ends the process at once), and SIGUSR1 saves and continues. Signals that were ignored before stay
/// ignored.
class Signals {
public:
  Signals();
  ~Signals();

  /// The signal that asked to stop, or 0.
  int stopRequested() const;
  /// Whether a save was requested since the last one.
  bool saveRequested() const;
  void clearSaveRequest();
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_SIGNALS_H
