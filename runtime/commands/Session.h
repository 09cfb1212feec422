//===- Session.h - what all commands do first ---------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_SESSION_H
#define TESSERA_RUNTIME_COMMANDS_SESSION_H

#include "runtime/Program.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/commands/Options.h"

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

/// Resolves a path to a checkpoint: itself, or the newest one in it.
std::string newestIn(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_SESSION_H
