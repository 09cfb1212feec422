//===- Checkpoint.h - saving and loading a run ----------------------------===//
//
// A checkpoint is a folder: `model.safetensors` (parameters and other state of the model), `optimizer.safetensors`
// (moments, counters, scales) and `manifest.json` (position, seed, settings, and a hash of every chunk of both
// files). It is written under a temporary name and committed by a rename.
//
// Both files have whole tensors, whatever parts of them the ranks have: a checkpoint is that of a model, not of a mesh.
// So it is saved and loaded on any number of ranks. With several, saving and loading are collectives: all ranks write
// and read their parts of the same files, and an error of one is thrown on all.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "runtime/checkpoint/CheckpointDamage.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/program/Manifest.h"

#include <functional>

namespace tessera::runtime {

/// What the rounding of a run depends on.
struct Parallelism {
  int threads = 0;                 ///< 0: not recorded, or a GPU's
  std::optional<std::string> mesh; ///< Mesh::text(), empty: one rank; none: not recorded
  int64_t leaves = 0;              ///< RanksSpec::leaves of the program
};

/// The manifest of a checkpoint.
struct CheckpointInfo {
  std::string model;
  int64_t step = 0;
  int64_t position = 0;   ///< consumed batches
  uint64_t seed = 0;      ///< of initialisation and shuffling
  bool evaluated = false; ///< the evaluation due at this step is already in the metrics
  std::string data;       ///< the data files, as one line
  int64_t batch = 0;      ///< rows a step; 0: not recorded
  Parallelism parallelism;
  std::string program;     ///< LoadedProgram::hash(); empty: not recorded
  std::string resumedFrom; ///< the checkpoint that --resume named for this branch; empty: it began at step 0
  int rowOrder = 2;        ///< RowOrder of the run; this is that of runs that begin now
  /// What recordSources() says of each training source; empty: not recorded.
  Json sources = Json::object();
  Json settings = Json::object();
  Json source; ///< Manifest::source of the program; null: not recorded
  Json best;   ///< BestEvaluation::record(); null: none
};

/// The address of an entry's bytes, in memory order.
using StateAddress = std::function<char *(const StateEntry &)>;

/// A collective: writes a checkpoint into `folder` and returns its path. `info` is that of the first rank. Throws
/// DiskFull on one rank if there is no space, and a RankError on several if one of them fails, or if a rank does not
/// see what the first one created. Nothing is left over then. Earlier checkpoints stay intact in any case.
std::string saveCheckpoint(const CheckpointFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                           const StateAddress &address, HostCommunicator &world);

/// A collective: verifies every hash, then loads the state, of which each rank has a part. Throws CheckpointDamaged on
/// all ranks, with nothing loaded, if a file is missing, truncated or does not match its hash; Error if a file cannot
/// be read, if ranks see different checkpoints, or if the checkpoint belongs to a program with another state table.
CheckpointInfo loadCheckpoint(const std::string &path, const Manifest &manifest, const StateAddress &address,
                              HostCommunicator &world);

/// The manifest of the checkpoint at `path` alone; no collective. Throws CheckpointDamaged or Error as loadCheckpoint.
CheckpointInfo readCheckpointInfo(const std::string &path);

/// Whether the manifest exists with its hash, and the files with the sizes it says. Does not read the tensors.
bool looksWhole(const std::string &path);

/// A collective: the chunks that this rank verifies of the checkpoint at `path`, if one is there. Throws an Error on
/// all ranks if they do not see the same one.
ChunkShare shareOfCheckpoint(const std::string &path, HostCommunicator &world);

/// Verifies and opens the model's file of a checkpoint; throws as loadCheckpoint.
SafetensorsFile openModel(const std::string &path, ChunkShare &share);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINT_H
