//===- SharedFolder.cpp - one folder of checkpoints for all ranks ---------===//

#include "runtime/checkpoint/SharedFolder.h"

#include "runtime/checkpoint/CheckpointDamage.h"

#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::runtime {

namespace {
/// An empty folder that the first rank makes, with a random name: no other disk has one of that name. A crash leaves it
/// as one that the next run removes (CheckpointFolder::lock).
class Marker {
public:
  Marker(const CheckpointFolder &folder, HostCommunicator &world) {
    uint64_t number = 0;
    if (world.rank() == 0) {
      std::random_device random;
      number = (uint64_t(random()) << 32 | random()) >> 1; // in place of a process, which is no negative number
    }
    world.broadcast("name of a folder", &number, sizeof(number), 0);
    path = fmt::format("{}/{}{}-{}", folder.path(), temporaryPrefix, checkpointName(0), number);
  }
  ~Marker() {
    if (isMade) rmdir(path.c_str());
  }
  Marker(const Marker &) = delete;

  void make(const std::string &folder) {
    if (mkdir(path.c_str(), 0777) != 0) failSystem("write to the checkpoint folder", folder);
    isMade = true;
  }
  bool isSeen() const {
    std::error_code error;
    return fs::is_directory(path, error);
  }

private:
  std::string path;
  bool isMade = false; ///< by this rank
};
} // namespace

void requireSharedFolder(const CheckpointFolder &folder, HostCommunicator &world) {
  if (world.size() == 1) return;
  Marker marker(folder, world);
  onFirstRank(world, "the checkpoint folder", [&] { marker.make(folder.path()); });
  onAllRanks(world, "the checkpoint folder of all ranks", [&] {
    if (!marker.isSeen())
      fail(
          "the checkpoint folder {} is not that of rank 0: what rank 0 creates there is not seen here; it must be on a "
          "file system that all ranks share",
          folder.path());
    if (access(folder.path().c_str(), W_OK | X_OK) != 0) failSystem("write to the checkpoint folder", folder.path());
  });
}

} // namespace tessera::runtime
