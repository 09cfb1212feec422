//===- Checkpoint.h - saving and loading a run --------------------------------===//
//
// A checkpoint is a folder: `model.safetensors` (parameters and other state of
// the model), `optimizer.safetensors` (moments, counters, scales) and
// `manifest.json` (what it is, and a hash of every chunk of both). It is
// written under a temporary name and committed by a rename.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/base/Error.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/program/Manifest.h"

#include <functional>

namespace tessera::runtime {

/// What a checkpoint says beside its tensors.
struct CheckpointInfo {
  std::string model;
  int64_t step = 0;
  int64_t position = 0;          ///< consumed batches
  uint64_t seed = 0;             ///< of initialisation and shuffling
  bool evaluated = false;        ///< the evaluation due at this step is already in the metrics
  std::string data;              ///< the data files, as one line
  int64_t batch = 0;             ///< rows a step; 0: not recorded
  int threads = 0;               ///< 0: not recorded, or a GPU's
  std::string program;           ///< Program::hash(); empty: not recorded
  std::string resumedFrom;       ///< what --resume named when this branch began; empty: it began at step 0
  Json sources = Json::object(); ///< rows, file sizes and sequence length of each training source; empty: not recorded
  Json settings = Json::object();
};

/// A checkpoint is not whole; an older one may be.
class CheckpointDamaged : public Error {
public:
  using Error::Error;
};

/// Where an entry's bytes lie, in memory order.
using StateAddress = std::function<char *(const StateEntry &)>;

/// Writes a checkpoint into `folder` and returns its path. Throws DiskFull if
/// there is no room; whatever happens, earlier checkpoints stay whole.
std::string saveCheckpoint(const CheckpointFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                           const StateAddress &address);

/// Verifies every hash, then loads the whole state. Throws CheckpointDamaged
/// if it is not whole (a file is missing, cut short, or does not match its hash; nothing was loaded
/// then), Error if the system will not read it or if it belongs to a program with another state table.
CheckpointInfo loadCheckpoint(const std::string &path, const Manifest &manifest, const StateAddress &address);

/// Whether the manifest is there with its hash, and the files in the sizes it says. Reads none of the tensors.
bool looksWhole(const std::string &path);

/// Verifies and loads the model only, from a checkpoint (throws as loadCheckpoint) or a safetensors file.
/// Every tensor must have its entry and every entry its tensor, and all numbers must be finite.
void loadModel(const std::string &path, const Manifest &manifest, const StateAddress &address);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
