//===- Session.cpp - what commands have in common -------------------------===//

#include "runtime/commands/Session.h"

#include "runtime/checkpoint/CheckpointDamage.h"
#include "runtime/data/ColumnWarnings.h"
#include "runtime/data/DataWarnings.h"
#include "runtime/ranks/Comparison.h"
#include "runtime/train/BestEvaluation.h"
#include "runtime/train/RunDifferences.h"
#include "runtime/weights/WeightFiles.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

std::string defaultCheckpointFolder(const Manifest &manifest) {
  return fmt::format("./{}-checkpoints", manifest.model);
}

StateAddress stateIn(LoadedProgram &program) {
  return [&program](const StateEntry &entry) { return program.at(entry.offset); };
}

void initialise(LoadedProgram &program, uint64_t seed) {
  const EntryFunction &entry = program.manifest().entry("init");
  if (const ValueSpec *input = entry.input("seed")) program.write<int64_t>(*input, static_cast<int64_t>(seed));
  program.call("init");
}

std::vector<int64_t> stepsIn(const CheckpointFolder &folder, HostCommunicator &world) {
  std::vector<int64_t> steps = folder.steps();
  auto count = static_cast<int64_t>(steps.size());
  world.broadcast("the number of checkpoints", &count, sizeof(count), 0);
  steps.resize(count);
  world.broadcast("the checkpoints", steps.data(), steps.size() * sizeof(int64_t), 0);
  return steps;
}

/// A collective: calls `load` for the checkpoints of a folder, newest first, until one is intact. Returns its path;
/// none if there are no checkpoints. `advice` is what to do if all are damaged.
template <typename Load>
static std::optional<std::string> tryNewest(const CheckpointFolder &folder, const std::string &advice,
                                            HostCommunicator &world, Load load) {
  std::vector<int64_t> steps = stepsIn(folder, world);
  for (size_t i = steps.size(); i-- > 0;) {
    try {
      load(folder.pathOf(steps[i]));
      return folder.pathOf(steps[i]);
    } catch (const CheckpointDamaged &e) {
      warn("warning: {}{}", e.what(), i > 0 ? "; taking the checkpoint before it" : "");
    }
  }
  if (!steps.empty()) fail("all checkpoints in {} are damaged; {}", folder.path(), advice);
  return std::nullopt;
}

std::optional<CheckpointInfo> loadNewest(LoadedProgram &program, const CheckpointFolder &folder,
                                         const std::string &advice, HostCommunicator &world) {
  CheckpointInfo info;
  auto load = [&](const std::string &path) {
    info = loadCheckpoint(path, program.manifest(), stateIn(program), world), program.pushState();
  };
  return tryNewest(folder, advice, world, load) ? std::optional(info) : std::nullopt;
}

std::optional<CheckpointInfo> newestInfo(const CheckpointFolder &folder) {
  std::vector<int64_t> steps = folder.steps();
  for (size_t i = steps.size(); i-- > 0;) {
    try {
      return readCheckpointInfo(folder.pathOf(steps[i]));
    } catch (const CheckpointDamaged &) {
    }
  }
  return std::nullopt;
}

/// The word for a checkpoint that its folder's newest one names.
static constexpr const char *bestName = "best";

/// What `save(best = …)` of a checkpoint's settings compares; empty if it says nothing.
static std::string goalOfBest(const Json &settings) {
  const Json save = settings.is_object() ? settings.value("save", Json::object()) : Json::object();
  return save.contains("best") && save["best"].is_string() ? save["best"].get<std::string>() : "";
}

/// `path`, or the checkpoint of the best evaluation if it is FOLDER/best and nothing has that name.
static std::string resolveBest(const std::string &path, const char *option) {
  std::error_code error;
  fs::path parent = fs::path(path).parent_path();
  if (fs::path(path).filename() != bestName || fs::exists(path, error) || !fs::is_directory(parent, error)) return path;
  CheckpointFolder folder(parent.string());
  std::optional<CheckpointInfo> newest = newestInfo(folder);
  int64_t step = newest ? bestStepIn(newest->best) : -1;
  if (std::string goal = newest ? goalOfBest(newest->settings) : ""; step < 0 && !goal.empty())
    fail("{} {}: the run, now at step {}, compares `{}` of its evaluations, and it was not finite in any of them; name "
         "another checkpoint",
         option, path, newest->step, printable(goal, 80));
  if (step < 0)
    fail(
        "{} {}: the run has no best checkpoint; the model file asks for one with save(best = NAME), the name of a loss",
        option, path);
  if (!fs::exists(folder.pathOf(step))) {
    int64_t saved = savedBestStepIn(newest->best);
    bool isThere = saved >= 0 && fs::exists(folder.pathOf(saved));
    fail("{} {}: the best evaluation was at step {}, but {} is missing; name another checkpoint{}", option, path, step,
         folder.pathOf(step), isThere ? ", such as the best that was saved, " + folder.pathOf(saved) : "");
  }
  return folder.pathOf(step);
}

bool isFolderOfCheckpoints(const std::string &path, const char *option) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{} {}: {}", option, path, error ? error.message() : "nothing is there");
  if (!fs::is_directory(path) || fs::exists(path + "/" + manifestFile) || isFolderOfWeights(path)) return false;
  if (CheckpointFolder(path).steps().empty()) fail("{} {}: no checkpoint is there, and no weights", option, path);
  return true;
}

/// Says what of the model and of the file was not used.
static void reportParts(const LoadedWeights &loaded, const std::string &path) {
  if (!loaded.missing.empty())
    warn("warning: {} lacks {}, which --only selects: initial values", path, listOfNames(loaded.missing));
  if (!loaded.notSelected.empty())
    warn("note: not selected by --only: initial values for {}", listOfNames(loaded.notSelected));
  if (!loaded.leftOver.empty()) warn("note: not used, of {}: {}", path, listOfNames(loaded.leftOver));
  if (!loaded.missing.empty() || !loaded.notSelected.empty() || !loaded.leftOver.empty())
    warn("note: read {} of {} parameters from {}", loaded.read,
         loaded.read + loaded.missing.size() + loaded.notSelected.size(), path);
}

/// Loads the model from what `wanted` names. Returns the path.
static std::string loadModel(const Manifest &manifest, const StateAddress &address, const std::string &wanted,
                             const char *option, HostCommunicator &world, const WeightOptions &how) {
  std::string path;
  bool isFolder = false;
  onAllRanks(world, "what weights are read",
             [&] { path = resolveBest(wanted, option), isFolder = isFolderOfCheckpoints(path, option); });
  requireEqual(world, {{fmt::format("what {} names", option), fmt::format("{} {}", path, isFolder)}},
               "it must be on a file system that all ranks share");
  auto load = [&](const std::string &one) { reportParts(loadWeights(one, how, manifest, address, world), one); };
  if (isFolder) {
    std::string advice = fmt::format("give {} another checkpoint, or weights", option);
    return *tryNewest(CheckpointFolder(path), advice, world, load);
  }
  load(path);
  return path;
}

std::string loadModelFrom(LoadedProgram &program, const std::string &path, const char *option, HostCommunicator &world,
                          const WeightOptions &how) {
  program.pullState(); // the file does not contain the whole state
  std::string loaded = loadModel(program.manifest(), stateIn(program), path, option, world, how);
  program.pushState();
  return loaded;
}

/// What --checkpoint names, or the default folder.
static std::string pathOfParameters(const Manifest &manifest, const Options &options) {
  std::string folder = defaultCheckpointFolder(manifest);
  std::string path = options.checkpoint.empty() ? folder : options.checkpoint;
  if (std::error_code error; path == bestName && !fs::exists(path, error)) path = folder + "/" + bestName;
  return path;
}

std::string loadParameters(WholeModel &model, const Options &options) {
  OneRank world;
  return loadModel(model.manifest(), model.address(), pathOfParameters(model.manifest(), options), "--checkpoint",
                   world, {});
}

std::string loadParameters(LoadedProgram &program, const Options &options, HostCommunicator &world) {
  // State that is not in the file (a step counter) is initialised as for training.
  if (program.manifest().hasEntry("init"))
    onAllRanks(world, "initial values", [&] { initialise(program, defaultSeed); });
  return loadModelFrom(program, pathOfParameters(program.manifest(), options), "--checkpoint", world);
}

void continueRowOrder(DataFiles &files, const Manifest &manifest, const std::string &path) {
  if (!fs::is_directory(path) || isFolderOfWeights(path)) return;
  CheckpointInfo saved = readCheckpointInfo(path);
  files.takeRowOrder(saved.rowOrder, path);
  for (const DataSpec &spec : manifest.data) {
    Json now = {{"validation", files.describeHeldOut(spec)}};
    if (std::string change = heldOutChange(saved.sources.value(spec.name, Json::object()), now, spec.name);
        !change.empty())
      warn("warning: {}", change);
  }
}

void sayDataNotes(const DataSet &set) {
  for (const std::string &line : dataNotes(nullptr, &set)) warn("note: {}", line);
}

void warnOfOtherColumns(const Manifest &manifest, const DataSet &set, const std::string &path) {
  if (!fs::is_directory(path) || isFolderOfWeights(path)) return;
  for (const std::string &line : otherColumnWarnings(manifest, set, readCheckpointInfo(path).sources))
    warn("warning: {}", line);
}

} // namespace tessera::runtime
