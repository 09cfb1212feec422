//===- Checkpoint.h - saving and loading a run ----------------------------===//
//
// A checkpoint is a folder: `model.safetensors` (parameters and other state of the model), `optimizer.safetensors`
// (moments, counters, scales) and `manifest.json` (position, seed, settings, and a hash of every chunk of both
// files). It is written under a temporary name and committed by a rename.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/base/Error.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/program/Manifest.h"

#include <functional>

namespace tessera::runtime {

/// The manifest of a checkpoint.
struct CheckpointInfo {
  std::string model;
  int64_t step = 0;
  int64_t position = 0;    ///< consumed batches
  uint64_t seed = 0;       ///< of initialisation and shuffling
  bool evaluated = false;  ///< the evaluation due at this step is already in the metrics
  std::string data;        ///< the data files, as one line
  int64_t batch = 0;       ///< rows a step; 0: not recorded
  int threads = 0;         ///< 0: not recorded, or a GPU's
  std::string program;     ///< LoadedProgram::hash(); empty: not recorded
  std::string resumedFrom; ///< the checkpoint that --resume named for this branch; empty: it began at step 0
  int rowOrder = 2;        ///< RowOrder of the run; this is that of runs that begin now
  /// What recordSources() says of each training source; empty: not recorded.
  Json sources = Json::object();
  Json settings = Json::object();
  Json source; ///< Manifest::source of the program; null: not recorded
  Json best;   ///< BestEvaluation::record(); null: none
};

/// A checkpoint is damaged; an older one may be intact.
class CheckpointDamaged : public Error {
public:
  using Error::Error;
};

/// The address of an entry's bytes, in memory order.
using StateAddress = std::function<char *(const StateEntry &)>;

/// Writes a checkpoint into `folder` and returns its path. Throws DiskFull if there is no space. Earlier checkpoints
/// stay intact in any case.
std::string saveCheckpoint(const CheckpointFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                           const StateAddress &address);

/// Verifies every hash, then loads the whole state. Throws CheckpointDamaged, with nothing loaded, if a file is
/// missing, truncated or does not match its hash; Error if a file cannot be read, or if the checkpoint belongs to a
/// program with another state table.
CheckpointInfo loadCheckpoint(const std::string &path, const Manifest &manifest, const StateAddress &address);

/// The manifest of the checkpoint at `path` alone. Throws CheckpointDamaged or Error as loadCheckpoint.
CheckpointInfo readCheckpointInfo(const std::string &path);

/// Whether the manifest exists with its hash, and the files with the sizes it says. Does not read the tensors.
bool looksWhole(const std::string &path);

/// Verifies and opens the model's file of a checkpoint; throws as loadCheckpoint.
SafetensorsFile openModel(const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
