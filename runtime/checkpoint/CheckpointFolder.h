//===- CheckpointFolder.h - the checkpoints of one run --------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Prefix of folders that are not checkpoints: incomplete, or being deleted.
inline constexpr const char *temporaryPrefix = ".tmp-";

/// "step-00001000".
std::string checkpointName(int64_t step);

/// A folder of checkpoints, each a folder named after its step.
class CheckpointFolder {
public:
  explicit CheckpointFolder(std::string path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;

  const std::string &path() const { return folder; }

  /// Creates the folder if needed, locks it against other runs until destruction, and removes what a crash left.
  /// Throws an Error if another process holds the lock.
  void lock();

  /// Creates the folder and its lock again if they were removed or replaced since lock().
  void lockAgain();

  /// The steps of all checkpoints, ascending; none if the folder is missing.
  std::vector<int64_t> steps() const;
  std::string pathOf(int64_t step) const { return folder + "/" + checkpointName(step); }

  /// Renames the checkpoints after `step` to "abandoned-step-N": a run that resumes at `step` computes those steps
  /// again, and must not take over what another branch (or damage) left. Returns their number.
  int abandonAfter(int64_t step);

  /// Deletes all but the newest `count` intact checkpoints up to `saved`, which is never deleted.
  void keepNewest(int64_t count, int64_t saved);

private:
  void unlock();
  void remove(int64_t step);

  std::string folder;
  int lockFile = -1;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
