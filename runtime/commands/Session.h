//===- Session.h - what commands have in common ---------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_SESSION_H
#define TESSERA_RUNTIME_COMMANDS_SESSION_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/commands/Options.h"
#include "runtime/data/DataSource.h"
#include "runtime/machine/LoadedProgram.h"
#include "runtime/weights/ModelWeights.h"
#include "runtime/weights/WholeModel.h"

namespace tessera::runtime {

inline constexpr uint64_t defaultSeed = 1337;

/// "./NAME-checkpoints".
std::string defaultCheckpointFolder(const Manifest &manifest);

/// The address of a state entry in the program's arena.
StateAddress stateIn(LoadedProgram &program);

/// Runs `init` with a seed.
void initialise(LoadedProgram &program, uint64_t seed);

/// A collective: the steps of the checkpoints in a folder, as the first rank sees them.
std::vector<int64_t> stepsIn(const CheckpointFolder &folder, HostCommunicator &world);

/// A collective: loads the newest intact checkpoint of a folder; warns about damaged ones. None if the folder has no
/// checkpoints. Throws an Error if all are damaged, with `advice` what to do, or if one belongs to another model.
std::optional<CheckpointInfo> loadNewest(LoadedProgram &program, const CheckpointFolder &folder,
                                         const std::string &advice, HostCommunicator &world);

/// The manifest of the newest checkpoint that has an intact one; none if there is none.
std::optional<CheckpointInfo> newestInfo(const CheckpointFolder &folder);

/// A collective: loads the parameters for eval, predict and generate: from --checkpoint (a checkpoint, a folder
/// of them, or a safetensors file; `best` or FOLDER/best: that of the best evaluation), else from the default folder.
/// Returns the path.
std::string loadParameters(LoadedProgram &program, const Options &options, HostCommunicator &world);

/// The same without the program's code.
std::string loadParameters(WholeModel &model, const Options &options);

/// Reads the rows of `files` in the order of the checkpoint at `path`, so that the rows for validation are those that
/// it was not trained with. Does nothing for a safetensors file. Warns if the program holds out others.
void continueRowOrder(DataFiles &files, const Manifest &manifest, const std::string &path);

/// Says on standard error what the readers of a data set assume of their files.
void sayDataNotes(const DataSet &set);

/// Warns of columns with other names than in the files that the checkpoint at `path` was trained with. Does nothing
/// for a safetensors file.
void warnOfOtherColumns(const Manifest &manifest, const DataSet &set, const std::string &path);

/// Whether `path` is a folder of checkpoints rather than a checkpoint or weights. Throws an Error that names `option`
/// if it does not exist or contains no checkpoint.
bool isFolderOfCheckpoints(const std::string &path, const char *option);

/// A collective: loads the model from a checkpoint, a file or folder of weights, the newest intact checkpoint of a
/// folder, or its best one (FOLDER/best). Returns the path. Says which parameters were not read, if `how` allows that.
std::string loadModelFrom(LoadedProgram &program, const std::string &path, const char *option, HostCommunicator &world,
                          const WeightOptions &how = {});

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_SESSION_H
