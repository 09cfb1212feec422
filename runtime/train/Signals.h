//===- Signals.h - requests from outside a run --------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_SIGNALS_H
#define TESSERA_RUNTIME_TRAIN_SIGNALS_H

namespace tessera::runtime {

/// Catches SIGINT, SIGTERM and SIGHUP (finish the step, save, stop; a second SIGINT or SIGTERM, a second later or more, ends the
/// process at once)
/// and SIGUSR1 (save and go on) while it lives; none of them if it was ignored before.
class Signals {
public:
  Signals();
  ~Signals();

  /// The signal that asked to stop, or 0.
  int stopRequested() const;
  /// Whether a save was asked for since the last was made.
  bool saveRequested() const;
  void clearSaveRequest();
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_SIGNALS_H
