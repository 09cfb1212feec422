//===- RunRanks.h - the ranks that a command runs on ----------------------===//
//
// A command that runs a program's code begins with this. One rank opens no library and starts no thread, and nothing is
// exchanged. Several ranks are connected, watched over, and compared: all must run the same program with the same
// options. From then on the first rank speaks: what the others print on standard output, and their warnings, goes to a
// log if there is a folder for it, and else is lost.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_RUNRANKS_H
#define TESSERA_RUNTIME_COMMANDS_RUNRANKS_H

#include "runtime/commands/Failure.h"
#include "runtime/commands/Options.h"
#include "runtime/data/DataSource.h"
#include "runtime/ranks/Agreement.h"
#include "runtime/ranks/RankLaunch.h"
#include "runtime/ranks/Watchdog.h"

namespace tessera::runtime {

class RunRanks {
public:
  /// Finds and connects the other ranks. Throws an Error if they cannot be connected, one with status 2 if they do not
  /// find each other, or if the job launcher started another number of ranks than the program is for.
  explicit RunRanks(const Manifest &manifest);

  HostCommunicator &world() { return *all; }
  const Mesh &mesh() const { return arrangement; }
  int count() const { return all->size(); }
  bool isFirst() const { return all->rank() == 0; }
  /// From now on this rank, unless it is the first one, appends what it prints to FOLDER/logs/rank-N.log. Where that is
  /// not possible it is lost: no run fails for want of a log.
  void logTo(const std::string &folder) const;
  /// "one rank", "rank 0 of 4, all on this host (mpirun), mesh data=2,tensor=2".
  std::string describe() const;

  /// A collective: runs `body` on each rank. If it throws on one, all ranks throw a RankError; one rank alone throws
  /// what it throws. Errors of `body` after a collective of its own must be those of all ranks.
  void together(const char *what, const std::function<void()> &body);
  /// The same for what only the first rank does.
  void onFirst(const char *what, const std::function<void()> &body);
  /// Whether all ranks have got this error, so that the next collective is the same for all.
  bool isShared(const std::exception &error) const;

  /// A collective, the first one: throws the error of a rank that could not begin (endBeforeStart), or an Error with
  /// status 2 if the job launcher started another number of ranks than the program is for. Restricts this process to
  /// its share of the machine. Throws a RankError on all ranks if they differ in the program, the command, or an
  /// option. Then connects the program with the ranks along each axis of its mesh.
  void connect(LoadedProgram &program, const std::string &command, const Options &options);
  /// A collective: what the first rank says, for decisions that depend on paths, which may differ.
  bool asOnFirst(const char *what, bool own);
  /// The same if they read other data.
  void requireSameData(const DataFiles &files, const DataSet &set, Split split, const Manifest &manifest);

  /// While it lives this rank may be late for any collective, because of work that takes longer on one rank than on
  /// another one: it reads or writes files.
  class LongWork {
  public:
    explicit LongWork(RunRanks &ranks) : ranks(ranks) { ranks.allow(std::chrono::hours(1)); }
    ~LongWork() { ranks.allow(std::chrono::hours(0)); }
    LongWork(const LongWork &) = delete;

  private:
    RunRanks &ranks;
  };

  /// Runs a command, which begins with `connect`, and ends the ranks. Of an error that all ranks have, the first one
  /// prints the message; an error of one rank alone is printed by it, and ends the others. Returns the exit status. One
  /// rank throws its errors.
  ExitStatus run(const std::function<ExitStatus()> &command);

private:
  void takeShare(LoadedProgram &program, const Options &options);
  void requireSameCommand(const LoadedProgram &program, const std::string &command, const Options &options);
  void allow(std::chrono::milliseconds time);
  void finish(ExitStatus status);

  RankLaunch launch;
  Mesh arrangement;
  std::unique_ptr<HostCommunicator> all;
  std::unique_ptr<Agreement> agreement;
  std::unique_ptr<Watchdog> watchdog; ///< null: one rank, or not connected yet
  std::vector<std::unique_ptr<HostCommunicator>> groups;
};

/// Ends a process that failed before it found the other ranks, such as one with a mistake on its command line: tells
/// them, so that all end, and the first one prints the error. Alone, or if they cannot be connected, this process
/// prints its own. Returns the exit status.
ExitStatus endBeforeStart(const Failure &failure);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_RUNRANKS_H
