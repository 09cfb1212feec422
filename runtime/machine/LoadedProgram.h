//===- LoadedProgram.h - a training program, loaded -----------------------===//
//
// A payload with its code mapped, memory allocated, threads started and contractions prepared.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_LOADEDPROGRAM_H
#define TESSERA_RUNTIME_MACHINE_LOADEDPROGRAM_H

#include "runtime/machine/Machine.h"
#include "runtime/program/Payload.h"
#include "runtime/ranks/Mesh.h"

#include <cstring>
#include <memory>
#include <optional>

namespace tessera::runtime {

class LoadedProgram {
public:
  /// Parses the manifest and checks that this processor has the instruction sets of the code. Allocates nothing yet.
  /// `file`: path of the program, beside which measured choices for this machine are stored.
  explicit LoadedProgram(Payload payload, std::string file = "");
  ~LoadedProgram();

  const Manifest &manifest() const { return description; }
  /// The program's own file; empty if it is not known.
  const std::string &path() const { return file; }
  /// Hash of code and manifest.
  const std::string &hash() const { return payloadHash; }

  /// What `start` says if there is too little memory.
  void adviseOnMemory(MemoryAdvice advice) { memoryAdvice = std::move(advice); }

  /// The ranks of the run, and the place of this one on its host; called before `start`.
  void connect(RankGroups groups, LocalPlace own) { ranks = std::move(groups), place = own; }
  /// This rank's position in each of them.
  RankPositions positions() const;
  /// What this process may allocate, if that is less than what is available: others share the machine with it.
  void limitMemory(AvailableMemory share) { memoryShare = std::move(share); }

  /// Maps the code and allocates the arena. On a CPU it starts `threads` threads (0: as many as the program was
  /// compiled for, or as there are cores), each pinned to a core if `bind`. A collective of several ranks: if it throws
  /// on one, it throws a RankError on all.
  void start(int threads, bool bind = false);

  /// The number of threads that start(wanted) would use.
  int threadCount(int wanted) const;

  /// Runs an entry function. Throws an Error if a library call failed in it.
  void call(const std::string &entry);

  /// The two halves of a call, for work between them (Machine.h).
  void startCall(const std::string &entry);
  void finishCall() { machine->finishCall(); }
  bool runsAhead() const { return machine->runsAhead(); }

  /// Like call(); `observer` is called after each kernel and contraction.
  void callObserved(const std::string &entry, const CallObserver &observer);
  /// Like call(); returns the first non-finite value that the entry function computes. Slow.
  std::optional<NonFinite> callWatched(const std::string &entry);

  /// The host's address of a byte of the arena: valid for inputs before a call, for outputs after it, and for the
  /// state between `pullState` and `pushState`.
  char *at(int64_t offset) const { return machine->at(offset); }

  /// Copies the state from the machine to the host, or back.
  void pullState();
  void pullState(const StateEntry &entry) const { machine->pull(entry.offset, entry.bytes); }
  void pushState();

  template <typename T> T read(const ValueSpec &value) const {
    T result;
    memcpy(&result, at(value.offset), sizeof(T));
    return result;
  }
  template <typename T> void write(const ValueSpec &value, T content) { memcpy(at(value.offset), &content, sizeof(T)); }

  /// A scalar of any integer or float type as a double.
  double readScalar(const ValueSpec &value) const;

  /// A counter of the state table ("step", "seed"); `missing` if the program has none.
  int64_t readCounter(const std::string &path, int64_t missing) const;

  /// A description of the machine.
  std::string describeMachine() const { return machine->describe(); }

  /// Profiles the calls of steps from now on; the caller marks the beginning and the end of each step.
  Profile &startProfile();

  /// The machine's peak rates, measured now.
  std::optional<MachineLimits> machineLimits() { return machine->limits(); }

  int threads() const { return machine ? machine->threads() : 0; }
  /// Allocated for the arena and what did not fit into it (Machine.h).
  int64_t arenaBytes() const { return machine->arenaBytes(); }

private:
  void mapCode();
  void writePositions(const EntryFunction &entry);
  TsrEntry codeOf(const std::string &entry) const;

  std::string file;
  Manifest description;
  std::string payloadHash, object;
  MemoryAdvice memoryAdvice;
  std::optional<AvailableMemory> memoryShare;
  RankGroups ranks;
  LocalPlace place;
  int codeFile = -1;
  void *library = nullptr;
  std::map<std::string, TsrEntry> entries;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<Profile> profile;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_LOADEDPROGRAM_H
