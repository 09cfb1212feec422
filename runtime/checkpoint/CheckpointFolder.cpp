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
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(temporaryPrefix)) fs::remove_all(entry.path(), error);
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
    if (!name.starts_with("step-")) continue;
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

void CheckpointFolder::keepNewest(int64_t count, int64_t saved) {
  std::vector<int64_t> all = steps();
  std::reverse(all.begin(), all.end());
  int64_t kept = 1; // the one just saved
  for (int64_t step : all) {
    if (step >= saved) continue;
    if (kept >= count)
      remove(step);
    else if (looksWhole(pathOf(step)))
      ++kept;
  }
}

} // namespace tessera::runtime
