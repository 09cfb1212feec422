//===- CheckpointFolder.cpp - the checkpoints of one run ------------------===//

#include "runtime/checkpoint/CheckpointFolder.h"

#include "runtime/base/DurableFile.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::runtime {

static bool isNameOfFile(const std::string &name) {
  return name == modelFile || name == optimizerFile || name == manifestFile;
}

bool isFileOfCheckpoint(const std::string &path) {
  std::error_code error;
  fs::path folder = fs::path(path).parent_path();
  // Others have files called `model.safetensors` too, but not beside one of these.
  bool isCheckpoint = fs::exists(folder / manifestFile, error) || fs::exists(folder / optimizerFile, error);
  return isCheckpoint && isNameOfFile(fs::path(path).filename().string());
}

std::string checkpointName(int64_t step) { return fmt::format("step-{:08}", step); }

CheckpointFolder::CheckpointFolder(std::string path) : folder(std::move(path)) {}

CheckpointFolder::~CheckpointFolder() { unlock(); }

/// Creates a folder and its ancestors; makes each name durable in its parent.
static void createFolders(const fs::path &path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return;
  fs::path parent = path.has_filename() ? path.parent_path() : path.parent_path().parent_path();
  if (!parent.empty()) createFolders(parent);
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) failSystem("create the checkpoint folder", path);
  if (!fs::is_directory(path, error)) fail("cannot create the checkpoint folder {}: a file is there", path.string());
  syncFolder(parent.empty() ? "." : parent.string());
}

/// Whether `name` is ".tmp-step-00001000-4711" (with the number of a process), the same with "-old", or
/// ".tmp-delete-step-00001000".
static bool isTemporaryName(std::string_view name) {
  auto take = [&](std::string_view word) {
    bool found = name.starts_with(word);
    if (found) name.remove_prefix(word.size());
    return found;
  };
  auto takeNumber = [&] {
    int64_t number = 0;
    auto [end, bad] = std::from_chars(name.data(), name.data() + name.size(), number);
    std::string_view digits = name.substr(0, end - name.data());
    name.remove_prefix(digits.size());
    return bad == std::errc() && digits[0] != '-' ? digits : std::string_view();
  };
  if (!take(temporaryPrefix)) return false;
  bool isDeleted = take("delete-");
  if (!take("step-") || takeNumber().size() < 8) return false;
  if (isDeleted) return name.empty();
  return take("-") && !takeNumber().empty() && (name.empty() || name == "-old");
}

/// Whether saving or deleting a checkpoint left this behind: others may have folders with a dot here too.
static bool isLeftByACrash(const fs::directory_entry &entry) {
  std::error_code error;
  if (!isTemporaryName(entry.path().filename().string()) ||
      entry.symlink_status(error).type() != fs::file_type::directory)
    return false;
  for (const fs::directory_entry &file : fs::directory_iterator(entry.path(), error)) {
    bool isOfCheckpoint = isNameOfFile(file.path().filename().string());
    if (!isOfCheckpoint || file.symlink_status(error).type() != fs::file_type::regular) return false;
  }
  return !error;
}

void CheckpointFolder::lock() {
  createFolders(folder);
  lockFile = open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lockFile < 0) failSystem("lock", folder);
  if (flock(lockFile, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      unlock();
      fail("the checkpoint folder {} is in use by another run; stop that one or choose another --checkpoint-dir",
           folder);
    }
    warn("warning: cannot lock the checkpoint folder {}: {}; make sure that no other run uses it", folder,
         strerror(errno));
  }
  std::vector<fs::path> left;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (isLeftByACrash(entry)) left.push_back(entry.path());
  std::error_code error;
  for (const fs::path &path : left) fs::remove_all(path, error);
}

void CheckpointFolder::unlock() {
  if (lockFile >= 0) close(lockFile);
  lockFile = -1;
}

void CheckpointFolder::lockAgain() {
  struct stat ours, there;
  bool same = lockFile >= 0 && fstat(lockFile, &ours) == 0 && stat((folder + "/.lock").c_str(), &there) == 0 &&
              ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  if (same) return;
  unlock();
  lock();
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> result;
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    int64_t step;
    if (!name.starts_with("step-") || !entry.is_directory(error)) continue;
    auto [end, bad] = std::from_chars(name.data() + 5, name.data() + name.size(), step);
    if (bad == std::errc() && step >= 0 && checkpointName(step) == name) result.push_back(step);
  }
  std::sort(result.begin(), result.end());
  return result;
}

int CheckpointFolder::abandonAfter(int64_t step) {
  int count = 0;
  for (int64_t other : steps()) {
    if (other <= step) continue;
    std::string name = fmt::format("{}/abandoned-{}", folder, checkpointName(other)), free = name;
    for (int i = 2; fs::exists(free); ++i) free = fmt::format("{}-{}", name, i);
    if (rename(pathOf(other).c_str(), free.c_str()) != 0) failSystem("rename", pathOf(other));
    ++count;
  }
  if (count > 0) syncFolder(folder);
  return count;
}

void CheckpointFolder::remove(int64_t step) {
  // Renamed first: an incomplete deletion must not look like a checkpoint.
  std::string doomed = fmt::format("{}/{}delete-{}", folder, temporaryPrefix, checkpointName(step));
  std::error_code error;
  fs::rename(pathOf(step), doomed, error);
  if (!error) fs::remove_all(doomed, error);
}

void CheckpointFolder::keepNewest(int64_t count, int64_t saved, int64_t best) {
  std::vector<int64_t> all = steps();
  std::reverse(all.begin(), all.end());
  int64_t kept = 1; // the one just saved
  for (int64_t step : all) {
    if (step >= saved) continue;
    if (kept >= count && step != best)
      remove(step);
    else if (kept < count && looksWhole(pathOf(step)))
      ++kept;
  }
}

} // namespace tessera::runtime
