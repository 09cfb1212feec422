//===- Session.cpp - what all commands do first -------------------------------===//

#include "runtime/commands/Session.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

std::string defaultCheckpointFolder(const Manifest &manifest) {
  return fmt::format("./{}-checkpoints", manifest.model);
}

StateAddress stateIn(Program &program) {
  return [&program](const StateEntry &entry) { return program.at(entry.offset); };
}

void initialise(Program &program, uint64_t seed) {
  const EntryFunction &entry = program.manifest().entry("init");
  if (const Value *input = entry.input("seed")) program.write<int64_t>(*input, static_cast<int64_t>(seed));
  program.call("init");
}

std::optional<CheckpointInfo> loadNewest(Program &program, const CheckpointFolder &folder) {
  std::vector<int64_t> steps = folder.steps();
  std::reverse(steps.begin(), steps.end());
  for (int64_t step : steps) {
    try {
      return loadCheckpoint(folder.pathOf(step), program.manifest(), stateIn(program));
    } catch (const CheckpointDamaged &e) {
      fmt::print(stderr, "warning: {}; taking the checkpoint before it\n", e.what());
    }
  }
  if (!steps.empty()) fail("no checkpoint in {} is whole; start again in another --checkpoint-dir", folder.path());
  return std::nullopt;
}

std::string newestIn(const std::string &path) {
  if (!fs::exists(path)) fail("no checkpoint at {}; name one with --checkpoint PATH", path);
  if (!fs::is_directory(path) || fs::exists(path + "/manifest.json")) return path;
  CheckpointFolder folder(path);
  std::vector<int64_t> steps = folder.steps();
  if (steps.empty()) fail("no checkpoint in {}; name one with --checkpoint PATH", path);
  return folder.pathOf(steps.back());
}

std::string loadParameters(Program &program, const Options &options) {
  std::string path = options.checkpoint.empty() ? defaultCheckpointFolder(program.manifest()) : options.checkpoint;
  std::string single = newestIn(path);
  // State that is not in the file (a step counter) starts as it does in training.
  if (program.manifest().hasEntry("init")) initialise(program, defaultSeed);
  if (single == path) {
    loadModel(path, program.manifest(), stateIn(program));
    return path;
  }
  CheckpointFolder folder(path);
  return folder.pathOf(loadNewest(program, folder)->step);
}

} // namespace tessera::runtime
