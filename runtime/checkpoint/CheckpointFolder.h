//===- CheckpointFolder.h - the checkpoints of one run ------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Names that start so are never checkpoints: half written, or half deleted.
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

  /// Creates the folder if need be, locks it against other runs until
  /// destruction, and removes what a crash left behind. Throws an Error if another process has it.
  void lock();

  /// Makes the folder and its lock again if somebody removed or replaced it since lock().
  void lockAgain();

  /// The steps there are checkpoints of, ascending; none if the folder is missing.
  std::vector<int64_t> steps() const;
  std::string pathOf(int64_t step) const { return folder + "/" + checkpointName(step); }

  /// Renames the checkpoints behind `step` to "abandoned-step-N": a run that goes on from `step` writes that part anew,
  /// and what another branch (or damage) left there must not be taken for it. Returns how many.
  int abandonAfter(int64_t step);

  /// Deletes all but the newest `count` up to `saved`, which stays whatever else is there. Only whole ones count.
  void keepNewest(int64_t count, int64_t saved);

private:
  void unlock();
  void remove(int64_t step);

  std::string folder;
  int lockFile = -1;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTFOLDER_H
