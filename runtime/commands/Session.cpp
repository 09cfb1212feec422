//===- Session.cpp - what commands have in common -------------------------===//

#include "runtime/commands/Session.h"

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

/// Calls `load` for the checkpoints of a folder, newest first, until one is intact. Returns its path; none if there
/// are no checkpoints.
template <typename Load> static std::optional<std::string> tryNewest(const CheckpointFolder &folder, Load load) {
  std::vector<int64_t> steps = folder.steps();
  for (size_t i = steps.size(); i-- > 0;) {
    try {
      load(folder.pathOf(steps[i]));
      return folder.pathOf(steps[i]);
    } catch (const CheckpointDamaged &e) {
      warn("warning: {}{}", e.what(), i > 0 ? "; taking the checkpoint before it" : "");
    }
  }
  if (!steps.empty()) fail("all checkpoints in {} are damaged; start again in another --checkpoint-dir", folder.path());
  return std::nullopt;
}

std::optional<CheckpointInfo> loadNewest(LoadedProgram &program, const CheckpointFolder &folder) {
  CheckpointInfo info;
  auto load = [&](const std::string &path) {
    info = loadCheckpoint(path, program.manifest(), stateIn(program)), program.pushState();
  };
  return tryNewest(folder, load) ? std::optional(info) : std::nullopt;
}

bool isFolderOfCheckpoints(const std::string &path, const char *option) {
  std::error_code error;
  if (!fs::exists(path, error)) fail("{} {}: {}", option, path, error ? error.message() : "nothing is there");
  if (!fs::is_directory(path) || fs::exists(path + "/manifest.json")) return false;
  if (CheckpointFolder(path).steps().empty()) fail("{} {}: no checkpoint is there", option, path);
  return true;
}

std::string loadModelFrom(LoadedProgram &program, const std::string &path, const char *option) {
  auto load = [&](const std::string &one) {
    program.pullState(); // the file does not contain the whole state
    loadModel(one, program.manifest(), stateIn(program));
    program.pushState();
  };
  if (isFolderOfCheckpoints(path, option)) return *tryNewest(CheckpointFolder(path), load);
  load(path);
  return path;
}

std::string loadParameters(LoadedProgram &program, const Options &options) {
  std::string path = options.checkpoint.empty() ? defaultCheckpointFolder(program.manifest()) : options.checkpoint;
  // State that is not in the file (a step counter) is initialised as for training.
  if (program.manifest().hasEntry("init")) initialise(program, defaultSeed);
  return loadModelFrom(program, path, "--checkpoint");
}

} // namespace tessera::runtime
