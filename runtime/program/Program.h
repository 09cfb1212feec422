//===- Program.h - the compiled part of a training program --------------------===//
//
// The payload brought to life: code mapped, memory taken, threads running,
// contractions prepared. From then on only `call` is needed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_PROGRAM_H
#define TESSERA_RUNTIME_PROGRAM_H

#include "runtime/machine/Machine.h"
#include "runtime/program/Payload.h"

#include <cstring>
#include <memory>
#include <optional>

namespace tessera::runtime {

class Program {
public:
  /// Parses the manifest and checks that this processor has what the code needs. Takes no memory yet.
  /// `file`: the program's own, beside which it may remember what it found out about this machine.
  explicit Program(Payload payload, std::string file = "");
  ~Program();

  const Manifest &manifest() const { return description; }
  /// Of code and manifest: another compilation has another one.
  const std::string &hash() const { return payloadHash; }

  /// Maps the code and takes the arena. On a CPU it starts `threads` threads (0: as many as the program was
  /// compiled for, or the cores there are), each on a core of its own if `bind`.
  void start(int threads, bool bind = false);

  /// The number of threads that start(wanted) would use.
  int threadCount(int wanted) const;

  /// Runs an entry function. Throws an Error if a library call failed in it.
  void call(const std::string &entry);

  /// The two halves of a call, where the machine may do something between them (Machine.h).
  void startCall(const std::string &entry);
  void finishCall() { machine->finishCall(); }
  bool runsAhead() const { return machine->runsAhead(); }

  /// The same; `observer` sees each call that the entry function makes.
  void callObserved(const std::string &entry, const TraceObserver &observer);
  /// The same; what it calls is looked through for the first number that is not finite. Slow.
  std::optional<NotFinite> callWatched(const std::string &entry);

  /// Where the host sees a byte of the arena: inputs of an entry function before a call of it, outputs behind one, state between
  /// `pullState` and `pushState`.
  char *at(int64_t offset) const { return machine->at(offset); }

  /// Has the host see the state as it is now; has the machine take it as the host sees it.
  void pullState();
  void pullState(const StateEntry &entry) const { machine->pull(entry.offset, entry.bytes); }
  void pushState();

  template <typename T> T read(const Value &value) const {
    T result;
    memcpy(&result, at(value.offset), sizeof(T));
    return result;
  }
  template <typename T> void write(const Value &value, T content) { memcpy(at(value.offset), &content, sizeof(T)); }

  /// A scalar of any numeric type as a double.
  double readScalar(const Value &value) const;

  /// The counters of the state table ("step", "seed"); `missing` where the program has none.
  int64_t readCounter(const std::string &path, int64_t missing) const;

  /// What it runs on, in words.
  std::string describeMachine() const { return machine->describe(); }

  /// From now on calls are profiled; the caller ends the steps.
  Profile &startProfile();

  int threads() const { return machine ? machine->threads() : 0; }

private:
  void mapCode();
  TsrEntry codeOf(const std::string &entry) const;

  std::string file;
  Manifest description;
  std::string payloadHash, object;
  int codeFile = -1;
  void *library = nullptr;
  std::map<std::string, TsrEntry> entries;
  std::unique_ptr<Machine> machine;
  std::unique_ptr<Profile> profile;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_PROGRAM_H
