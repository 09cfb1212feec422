//===- Machine.h - what a program's code runs on ------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_H
#define TESSERA_RUNTIME_MACHINE_H

#include "runtime/Abi.h"
#include "runtime/program/Manifest.h"
#include "runtime/program/Profile.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera::runtime {

/// The arena, and all that entry functions ask for: the processor's cores, or a GPU.
class Machine {
public:
  virtual ~Machine() = default;

  /// "2 threads"; "NVIDIA H100".
  virtual std::string describe() const = 0;

  /// Where the host sees a byte of the arena. On a GPU that is a copy: `push` and `pull` bring ranges of it up to date on the other
  /// side.
  virtual char *at(int64_t offset) const = 0;
  virtual void push(int64_t offset, int64_t bytes) {}
  virtual void pull(int64_t offset, int64_t bytes) {}

  /// Takes the kernels out of the program's code.
  virtual void load(void *library) = 0;

  /// Runs an entry function: with the inputs that the host sees, which then sees the outputs. Throws an Error if something failed in
  /// it.
  virtual void call(const EntryFunction &entry, TsrEntry code) = 0;

  /// Whether a call may be started while the one before it runs; one, and no more.
  virtual bool runsAhead() const { return false; }

  /// The two halves of a call. When `startCall` returns the host may write the inputs of the next one; `finishCall` has it see the
  /// outputs of the oldest call that was started, which it must read before it writes inputs again. In between nothing else is asked
  /// for.
  virtual void startCall(const EntryFunction &entry, TsrEntry code) { call(entry, code); }
  virtual void finishCall() {}

  /// From now on `afterCall` is called when a kernel or contraction of an entry function is done; empty: no longer.
  virtual void observe(std::function<void()> afterCall) = 0;

  /// From now on calls are timed.
  virtual void startProfile(Profile &profile) = 0;

  /// Threads of the processor.
  virtual int threads() const = 0;
};

struct MachineOptions {
  int threads = 1;
  bool bind = false;       ///< each thread to a core of its own
  std::string gemmChoices; ///< of a GPU: where the fastest algorithms are remembered; empty: they are not searched for
};

/// Takes memory for a program and starts what runs it.
std::unique_ptr<Machine> makeCpuMachine(const Manifest &manifest, const MachineOptions &options);
std::unique_ptr<Machine> makeCudaMachine(const Manifest &manifest, const MachineOptions &options);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_H
