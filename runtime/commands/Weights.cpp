//===- Weights.cpp - the commands `export` and `import` -------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/base/ReplacementFile.h"
#include "runtime/commands/FilesInUse.h"
#include "runtime/commands/Session.h"

namespace tessera::runtime {

ExitStatus runExport(LoadedProgram &program, const Options &options) {
  if (!options.weights.ends_with(".safetensors"))
    failUsage("export {}: expected a name that ends in .safetensors, the only format here", options.weights);
  OutputPath output = findOutput(options.weights);
  if (!output.canBeReplaced()) fail("cannot write weights to {}: not a regular file", options.weights);
  FilesInUse files(program);
  files.addData(DataFiles(program.manifest().data, {}));
  files.check("export", options.weights);
  program.start(options.threads, options.bind);
  OneRank alone;
  std::string loaded = loadParameters(program, options, alone);
  files.addWeights(loaded);
  files.check("export", options.weights);
  program.pullState();
  size_t tensors = 0;
  replaceFile(output.path, [&](DurableFile &file) {
    tensors = saveWeights(file, options.partial, program.manifest(), stateIn(program));
  });
  printText("wrote {} ({} tensors of {})\n", options.weights, tensors, loaded);
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
  OneRank alone;
  loadModelFrom(program, options.weights, "import", alone, options.partial);
  program.pullState();
  folder.lock(); // only now: rejected weights must not leave a folder
  refuseUsed();
  printText("wrote {}\n", saveCheckpoint(folder, info, manifest, stateIn(program), alone));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
