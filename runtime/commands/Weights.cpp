//===- Weights.cpp - the commands `export` and `import` -------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/commands/Session.h"

#include <algorithm>
#include <unistd.h>

namespace tessera::runtime {

ExitStatus runExport(LoadedProgram &program, const Options &options) {
  OutputPath output = findOutput(options.weights);
  if (!output.canBeReplaced()) fail("cannot write weights to {}: not a regular file", options.weights);
  program.start(options.threads, options.bind);
  std::string loaded = loadParameters(program, options);
  std::vector<const StateEntry *> entries;
  for (const StateEntry &entry : program.manifest().state)
    if (entry.isModel()) entries.push_back(&entry);
  program.pullState();
  replaceFile(output.path, [&](DurableFile &file) { writeSafetensors(file, entries, stateIn(program)); });
  printText("wrote {} ({} tensors of {})\n", options.weights, entries.size(), loaded);
  return ExitStatus::Done;
}

ExitStatus runImport(LoadedProgram &program, const Options &options) {
  const Manifest &manifest = program.manifest();
  CheckpointFolder folder(options.output.empty() ? defaultCheckpointFolder(manifest) : options.output);
  auto refuseUsed = [&] {
    if (!folder.steps().empty()) fail("{} has checkpoints already; choose another --checkpoint-dir", folder.path());
  };
  refuseUsed();
  program.start(options.threads, options.bind);
  CheckpointInfo info;
  info.model = manifest.model;
  info.seed = options.seed.value_or(defaultSeed);
  info.settings = manifest.settings;
  initialise(program, info.seed);
  loadModelFrom(program, options.weights, "import");
  program.pullState();
  folder.lock(); // only now: rejected weights must not leave a folder
  refuseUsed();
  printText("wrote {}\n", saveCheckpoint(folder, info, manifest, stateIn(program)));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
