//===- CheckpointFolder.h - the checkpoints of one run --------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Prefix of folders that are not checkpoints: incomplete, or being deleted.
inline constexpr const char *temporaryPrefix = ".tmp-";

/// The files of a checkpoint.
inline constexpr const char *modelFile = "model.safetensors";
inline constexpr const char *optimizerFile = "optimizer.safetensors";
inline constexpr const char *manifestFile = "manifest.json";

/// Whether `path` is that of a file of a checkpoint, which may be damaged or not exist.
bool isFileOfCheckpoint(const std::string &path);

/// "step-00001000".
std::string checkpointName(int64_t step);

/// A folder of checkpoints, each a folder named after its step.
class CheckpointFolder {
public:
  explicit CheckpointFolder(std::string path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;

  const std::string &path() const { return folder; }

  /// Creates the folder if needed, locks it against other runs until destruction, and removes what a crash left:
  /// folders with a temporary name of a checkpoint that contain files of a checkpoint only. Others are left alone.
  /// Throws an Error if another process holds the lock.
  void lock();

  /// Creates the folder and its lock again if they were removed or replaced since lock().
  void lockAgain();

  /// The steps of all checkpoints, ascending; none if the folder is missing. A file with such a name is none.
  std::vector<int64_t> steps() const;
  std::string pathOf(int64_t step) const { return folder + "/" + checkpointName(step); }

  /// Renames the checkpoints after `step` to "abandoned-step-N": a run that resumes at `step` computes those steps
  /// again, and must not take over what another branch (or damage) left. Returns their number.
  int abandonAfter(int64_t step);

  /// Deletes all but the newest `count` intact checkpoints up to `saved`; neither `saved` nor `best` is ever deleted.
  void keepNewest(int64_t count, int64_t saved, int64_t best = -1);

  /// Deletes the checkpoint of a step.
  void remove(int64_t step);

private:
  void unlock();

  std::string folder;
  int lockFile = -1;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
