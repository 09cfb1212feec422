//===- Weights.cpp - the commands `export` and `import` -------------------===//

#include "runtime/base/OutputPath.h"
#include "runtime/base/ReplacementFile.h"
#include "runtime/commands/FilesInUse.h"
#include "runtime/commands/Session.h"

#include <algorithm>

namespace tessera::runtime {

ExitStatus runExport(LoadedProgram &program, const Options &options) {
  if (!options.weights.ends_with(".safetensors"))
    failUsage("export {}: expected a name that ends in .safetensors, the only format here", options.weights);
  OutputPath output = findOutput(options.weights);
  if (!output.canBeReplaced()) fail("cannot write weights to {}: not a regular file", options.weights);
  FilesInUse files(program);
  files.addData(DataFiles(program.manifest().data, {}));
  files.check("export", options.weights);
  WholeModel model(program.manifest());
  std::string loaded = loadParameters(model, options);
  files.addWeights(loaded);
  files.check("export", options.weights);
  size_t tensors = 0;
  replaceFile(output.path, [&](DurableFile &file) {
    tensors = saveWeights(file, options.partial, model.manifest(), model.address());
  });
  printText("wrote {} ({} tensors of {})\n", options.weights, tensors, loaded);
  return ExitStatus::Done;
}

ExitStatus runImport(LoadedProgram &program, const Options &options) {
  const Manifest &manifest = program.manifest();
  const std::vector<MeshAxisSpec> &mesh = manifest.target.ranks.mesh;
  if (std::any_of(mesh.begin(), mesh.end(), [](const MeshAxisSpec &axis) { return axis.size > 1; }))
    failUsage("import: this program is for several ranks, which compute its initial state together; import with the "
              "model compiled without --mesh: such a checkpoint is resumed on any mesh");
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
  OneRank world;
  loadModelFrom(program, options.weights, "import", world, options.partial);
  program.pullState();
  folder.lock(); // only now: rejected weights must not leave a folder
  refuseUsed();
  printText("wrote {}\n", saveCheckpoint(folder, info, manifest, stateIn(program), world));
  return ExitStatus::Done;
}

} // namespace tessera::runtime
