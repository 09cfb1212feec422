//===- Machine.h - the device that a program runs on ----------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_MACHINE_H
#define TESSERA_RUNTIME_MACHINE_MACHINE_H

#include "runtime/Abi.h"
#include "runtime/machine/MachineLimits.h"
#include "runtime/machine/MachineMemory.h"
#include "runtime/machine/RankGroups.h"
#include "runtime/program/Manifest.h"
#include "runtime/program/Profile.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tessera::runtime {

/// The arena and the functions that entry functions call: on the processor's cores, or on a GPU.
class Machine {
public:
  virtual ~Machine() = default;

  /// "2 threads"; "NVIDIA H100".
  virtual std::string describe() const = 0;

  /// The host's address of a byte of the arena. On a GPU that is a copy: `push` copies a range to the device, `pull`
  /// back to the host.
  virtual char *at(int64_t offset) const = 0;
  virtual void push(int64_t offset, int64_t bytes) {}
  virtual void pull(int64_t offset, int64_t bytes) {}

  /// Finds the kernels in the program's code. A collective of several ranks.
  virtual void load(void *library) = 0;

  /// Runs an entry function: reads the inputs from the host, makes the outputs visible to it. Throws an Error on
  /// failure.
  virtual void call(const EntryFunction &entry, TsrEntry code) = 0;

  /// Whether one call may be started while the previous one runs.
  virtual bool runsAhead() const { return false; }

  /// The two halves of a call. When `startCall` returns the host may write the inputs of the next one. `finishCall`
  /// makes the outputs of the oldest call visible, which the host must read before it writes inputs again. No other
  /// function is called in between.
  virtual void startCall(const EntryFunction &entry, TsrEntry code) { call(entry, code); }
  virtual void finishCall() {}

  /// Calls `afterCall` after each kernel and contraction of an entry function; empty: stops that.
  virtual void observe(std::function<void()> afterCall) = 0;

  /// Times calls from now on.
  virtual void startProfile(Profile &profile) = 0;

  /// The peak rates, measured now; none if they are not known.
  virtual std::optional<MachineLimits> limits() { return std::nullopt; }

  /// Number of CPU threads.
  virtual int threads() const = 0;

  /// The bytes that were allocated for the arena, and for what did not fit into it: scratch memory of more threads than
  /// the program was compiled for, or of a library that needs more than at compilation.
  virtual int64_t arenaBytes() const = 0;
};

/// A rank's number among those on its host, and how many these are.
struct LocalPlace {
  int rank = 0, size = 1;
};

struct MachineOptions {
  int threads = 1;
  bool bind = false;                     ///< pin each thread to a core
  MemoryAdvice advice;                   ///< if there is too little memory; may be empty
  std::optional<AvailableMemory> memory; ///< of this process; none: what is available
  RankGroups ranks;
  LocalPlace place;
  // Of a GPU: the files that record the fastest algorithms, of this program and of all programs; empty: none.
  std::string gemmChoices, sharedGemmChoices;
};

/// Allocates the arena of a program and starts the machine. A collective of several ranks: if it throws on one, it
/// throws a RankError on all.
std::unique_ptr<Machine> makeCpuMachine(const Manifest &manifest, const MachineOptions &options);
std::unique_ptr<Machine> makeCudaMachine(const Manifest &manifest, const MachineOptions &options);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_MACHINE_H
