//===- RunRanks.cpp - the ranks that a command runs on --------------------===//

#include "runtime/commands/RunRanks.h"

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/data/SourceRecord.h"
#include "runtime/machine/LoadedProgram.h"
#include "runtime/ranks/Comparison.h"
#include "runtime/ranks/RankShare.h"
#include "runtime/ranks/World.h"

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

/// The first collective of all ranks.
static constexpr const char *nameOfStart = "the start";

static Mesh meshOf(const Manifest &manifest) {
  std::vector<MeshAxis> axes;
  for (const MeshAxisSpec &axis : manifest.target.ranks.mesh) axes.push_back({axis.name, static_cast<int>(axis.size)});
  return Mesh(std::move(axes));
}

static void requireRanks(const Mesh &mesh, const RankLaunch &launch) {
  if (mesh.size() == launch.size) return;
  if (mesh.size() == 1)
    failUsage("{}: this program is for one rank; start it alone, or compile it for these, as with --mesh data={}",
              launch.describeAll(), launch.size);
  std::string instead = launch.size == 1 ? "without --mesh, for one rank" : fmt::format("for {}", launch.size);
  bool isByMpirun = launch.launcher == RankLauncher::None || launch.launcher == RankLauncher::Mpirun;
  std::string how = fmt::format("{} {}", isByMpirun ? "it with mpirun -n" : "as many ranks:", mesh.size());
  failUsage("{}: this program is for the {} ranks of the mesh {}; start {}, or compile it {}", launch.describeAll(),
            mesh.size(), mesh.text(), how, instead);
}

/// What this process prints on standard output goes to a file of a kind (S_IFREG), if that can be opened. Links are not
/// followed, and a pipe is not waited for. Returns whether it could.
static bool redirect(const std::string &path, mode_t kind) {
  std::fflush(stdout);
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  struct stat info;
  bool isOpen = file >= 0 && fstat(file, &info) == 0 && (info.st_mode & S_IFMT) == kind;
  if (isOpen) dup2(file, STDOUT_FILENO);
  if (file >= 0) close(file);
  return isOpen;
}

void RunRanks::logTo(const std::string &folder) const {
  if (isFirst()) return;
  std::string logs = folder + "/logs", log = fmt::format("{}/rank-{}.log", logs, all->rank());
  mkdir(logs.c_str(), 0777); // another rank may have made it
  if (!redirect(log, S_IFREG))
    printError(fmt::format("warning: rank {} cannot write its log {}: what it says is lost", all->rank(), log));
}

RunRanks::RunRanks(const Manifest &manifest) : launch(findRankLaunch()), arrangement(meshOf(manifest)) {
  try {
    all = openWorld(launch);
  } catch (const Error &) {
    requireRanks(arrangement, launch); // the mistake that comes first
    throw;
  }
  agreement = std::make_unique<Agreement>(*all);
}

void RunRanks::takeShare(LoadedProgram &program, const Options &options) {
  AvailableMemory available = availableMemory(); // before any rank allocates
  WatchdogOptions watching;
  watching.timeout = std::chrono::seconds(options.rankTimeout);
  watchdog = std::make_unique<Watchdog>(*all, watching); // may run on all processors
  RankShare share = agreeOnShare(*all, processorsOfRank(launch), available.bytes);
  together("processors", [&] { restrictTo(share.processors); });
  program.limitMemory({share.memory, fmt::format("the share of one of {} ranks here", launch.localSize)});
  if (isFirst()) return;
  redirect("/dev/null", S_IFCHR);
  speaks = false;
}

/// Meshes of one size may have other axes: they are compared before groups are made.
void RunRanks::connect(LoadedProgram &program, const std::string &command, const Options &options) {
  agreement->together(nameOfStart, [&] { requireRanks(arrangement, launch); });
  if (count() > 1) takeShare(program, options);
  requireSameCommand(program, command, options);
  groups = splitAlongAxes(*all, arrangement);
  std::vector<HostCommunicator *> along;
  for (const auto &group : groups) along.push_back(group.get());
  program.connect(RankGroups(*all, std::move(along)), {launch.localRank, launch.localSize});
}

/// What ranks must have alike. Files that only the first rank writes may differ, and paths of data, which are compared
/// by what they contain.
static std::vector<ComparedItem> comparedOptions(const Options &options) {
  const TrainOptions &train = options.train;
  const GenerateOptions &generate = options.generate;
  const PredictOptions &predict = options.predict;
  auto given = [](const auto &value) { return value ? fmt::format("{}", *value) : std::string(); };
  auto listed = [](const std::vector<std::string> &values) { return fmt::format("{}", fmt::join(values, "\n")); };
  return {{"the option --steps", given(train.steps)},
          {"the option --seed", given(options.seed)},
          {"the option --set", listed(options.set)},
          {"the option --threads", fmt::format("{}", options.threads)},
          {"the option --checkpoint-dir", train.checkpointDir},
          {"the option --resume", train.resume},
          {"the option --init", train.init},
          {"the option --only", listed(options.partial.only) + listed(predict.only)},
          {"the option --map", options.partial.map},
          {"the option --skip-batches", fmt::format("{}", train.skipBatches)},
          {"the option --overfit-batch", fmt::format("{}", train.overfitBatch)},
          {"the option --audit-precision", fmt::format("{}", train.auditSteps)},
          {"the option --check-replicas", fmt::format("{}", train.checkReplicas)},
          {"the option --checkpoint", options.checkpoint},
          {"the option --echo", listed(predict.echo)},
          {"the option --likelihood", fmt::format("{}", predict.likelihood)},
          {"the prompt", fmt::format("{}\n{}\n{}", generate.prompt, generate.promptTokens, generate.tokenizer)},
          {"the option --length", fmt::format("{}", generate.length)},
          {"an option of sampling", fmt::format("{} {} {}", generate.temperature, generate.topK, generate.topP)}};
}

void RunRanks::requireSameCommand(const LoadedProgram &program, const std::string &command, const Options &options) {
  if (count() == 1) return;
  std::vector<ComparedItem> items = {{"the program", program.hash()}, {"the command", command}};
  for (ComparedItem &item : comparedOptions(options)) items.push_back(std::move(item));
  requireEqual(*all, items, "start all ranks with the same program and the same options");
}

std::string RunRanks::describe() const {
  if (count() == 1) return launch.describe();
  return fmt::format("{}, mesh {}", isFirst() ? launch.describeAll() : launch.describe(), arrangement.text());
}

void RunRanks::together(const char *what, const std::function<void()> &body) {
  if (count() == 1) return body();
  agreement->together(what, [&] {
    try {
      body();
    } catch (const std::bad_alloc &) { // its own text says nothing
      Failure failure = currentFailure();
      throw Error(failure.text, failure.status);
    }
  });
}

bool RunRanks::asOnFirst(const char *what, bool own) {
  all->broadcast(what, &own, sizeof own, 0);
  return own;
}

void RunRanks::onFirst(const char *what, const std::function<void()> &body) {
  together(what, [&] {
    if (isFirst()) body();
  });
}

bool RunRanks::isShared(const std::exception &error) const {
  return count() == 1 || dynamic_cast<const RankError *>(&error) || dynamic_cast<const CheckpointDamaged *>(&error);
}

void RunRanks::requireSameData(const DataFiles &files, const DataSet &set, Split split, const Manifest &manifest) {
  if (count() == 1) return;
  std::vector<ComparedItem> items;
  together("the data", [&] {
    for (size_t i = 0; i < set.names.size(); ++i) {
      const DataSpec &spec = *manifest.dataNamed(set.names[i]);
      Portion portion = files.portion(spec, split);
      Split read = portion.kind == Portion::All ? split : Split::Train;
      items.push_back({fmt::format("the data '{}'", printable(spec.name)),
                       fmt::format("{} {}", set.readers[i]->rows(), thoroughHash(files.paths(spec.name, read)))});
    }
  });
  requireEqual(*all, items, "all ranks must read files with the same contents");
}

void RunRanks::allow(std::chrono::milliseconds time) {
  if (watchdog) watchdog->allowAlways(time);
}

/// Of an error that all ranks have, the first one prints the message.
static ExitStatus printOnFirst(const RankError &error, const HostCommunicator &world) {
  if (world.rank() == 0) printError(fmt::format("error: {}", error.what()));
  return error.exitStatus();
}

ExitStatus RunRanks::run(const std::function<ExitStatus()> &command) {
  if (count() == 1) return command();
  ExitStatus status = ExitStatus::Fault;
  try {
    status = command();
  } catch (const RankError &error) {
    status = printOnFirst(error, *all);
  } catch (const std::exception &) {
    Failure failure = currentFailure();
    printError(fmt::format("error: rank {}: {}", all->rank(), failure.text));
    if (!watchdog) all->abandon(failure.status);
    watchdog->endOthers(failure.status);
    return failure.status;
  }
  finish(status);
  return status;
}

/// No rank exits before all have said what they had to say: when one exits with another status than 0, mpirun sends
/// SIGTERM to the others, whose status is to be the same.
static void leave(HostCommunicator &world, ExitStatus status) {
  std::fflush(stdout);
  if (status != ExitStatus::Done) std::signal(SIGTERM, SIG_IGN);
  world.finish();
}

void RunRanks::finish(ExitStatus status) {
  leave(*all, status);
  if (watchdog) watchdog->finish();
}

ExitStatus endBeforeStart(const Failure &failure) {
  std::fflush(stdout);
  auto endAlone = [&] {
    printError(fmt::format("error: {}", failure.text));
    return failure.status;
  };
  std::unique_ptr<HostCommunicator> world;
  try {
    if (RankLaunch launch = findRankLaunch(); launch.size > 1) world = openWorld(launch);
  } catch (const std::exception &) { // what the user has to know is the failure
  }
  if (!world) return endAlone();
  Agreement agreement(*world);
  agreement.setError(failure.text, failure.status);
  try {
    agreement.agree(nameOfStart);
  } catch (const RankError &error) {
    ExitStatus status = printOnFirst(error, *world);
    leave(*world, status);
    return status;
  } catch (const std::exception &) { // another rank has died
  }
  return endAlone();
}

} // namespace tessera::runtime
