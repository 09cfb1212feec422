//===- Session.h - what all commands do first ---------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_SESSION_H
#define TESSERA_RUNTIME_COMMANDS_SESSION_H

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/commands/Options.h"
#include "runtime/program/Program.h"

namespace tessera::runtime {

inline constexpr uint64_t defaultSeed = 1337;

/// "./NAME-checkpoints".
std::string defaultCheckpointFolder(const Manifest &manifest);

/// The address of a state entry in the program's arena.
StateAddress stateIn(Program &program);

/// Runs `init` with a seed.
void initialise(Program &program, uint64_t seed);

/// Loads the newest whole checkpoint of a folder; warns of each that is damaged. Nothing if the folder has none.
/// Throws an Error if all are damaged, or if one belongs to another model.
std::optional<CheckpointInfo> loadNewest(Program &program, const CheckpointFolder &folder);

/// Loads the parameters for eval, generate and export: from --checkpoint (a
/// checkpoint, a folder of them, or a safetensors file), else from the default folder. Returns what was loaded.
std::string loadParameters(Program &program, const Options &options);

/// Whether `path` is a folder of checkpoints, not one itself or a file. Throws an Error that names `option` if nothing,
/// or no checkpoint, is there.
bool isFolderOfCheckpoints(const std::string &path, const char *option);

/// Loads the model from a checkpoint, a safetensors file, or the newest whole checkpoint of a folder. Returns which.
std::string loadModelFrom(Program &program, const std::string &path, const char *option);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_SESSION_H
