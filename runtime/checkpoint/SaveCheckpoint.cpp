//===- SaveCheckpoint.cpp - saving a run ----------------------------------===//
//
// Saves such that a crash at any point leaves earlier checkpoints intact:
//   1. make a folder with a temporary name
//   2. write both tensor files, fsync each
//   3. write manifest.json, fsync it and the folder
//   4. rename the folder
//   5. fsync the parent
//
// Several ranks do step 2 together. The first rank creates both files with their headers, in their full size; then each
// rank writes the elements of its part; then each reads and hashes some of the chunks. All else is done by the first
// rank alone. After each step the ranks agree that it worked.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/CheckpointManifest.h"
#include "runtime/checkpoint/StatePart.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::runtime {

namespace {
/// The folder of a checkpoint that is written.
struct NewFolder {
  /// `process`: that of the first rank.
  NewFolder(const CheckpointFolder &folder, int64_t step, int64_t process)
      : temporary(fmt::format("{}/{}{}-{}", folder.path(), temporaryPrefix, checkpointName(step), process)),
        final(folder.pathOf(step)) {}

  void make() const {
    if (mkdir(temporary.c_str(), 0777) != 0) failSystem("create", final);
  }
  void remove() const {
    std::error_code error;
    fs::remove_all(temporary, error);
  }
  DurableFile create(const char *name) const { return DurableFile(temporary + "/" + name, final + "/" + name); }
  void write(const char *name, std::string_view text) const {
    DurableFile file = create(name);
    file.append(text.data(), text.size());
    file.commit();
  }

  std::string temporary, final; ///< its path until it is whole, and from then on: that of messages
};
} // namespace

/// Renames a folder; replaces a damaged one of the same name.
static void commitFolder(const std::string &temporary, const std::string &final) {
  if (rename(temporary.c_str(), final.c_str()) == 0) return;
  bool exists = errno == EEXIST || errno == ENOTEMPTY;
  if (errno == ENOTDIR) fail("cannot commit the checkpoint {}: a file is there", final);
  if (!exists) failSystem("commit the checkpoint", final);
  std::string old = temporary;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) failSystem("commit the checkpoint", final);
    // File systems without RENAME_EXCHANGE: for a moment neither folder has the name, and the previous checkpoint is
    // the newest.
    old = temporary + "-old";
    if (rename(final.c_str(), old.c_str()) != 0 || rename(temporary.c_str(), final.c_str()) != 0)
      failSystem("commit the checkpoint", final);
  }
  std::error_code error;
  fs::remove_all(old, error);
}

/// Writes the manifest and gives the folder its name.
static void commitCheckpoint(const NewFolder &folder, const std::string &manifest) {
  folder.write(manifestFile, manifest);
  syncFolder(folder.temporary);
  commitFolder(folder.temporary, folder.final);
}

//===----------------------------------------------------------------------===//
// One rank: hashes are computed while it writes.
//===----------------------------------------------------------------------===//

static FileRecord writeTensors(const NewFolder &folder, const char *name,
                               const std::vector<const StateEntry *> &entries, const StateAddress &address,
                               const MeshPlace &place) {
  DurableFile file = folder.create(name);
  writeSafetensors(file, entries, address, place);
  return {name, static_cast<int64_t>(file.size()), file.hashes()};
}

static std::string saveAlone(const CheckpointFolder &parent, const CheckpointInfo &info, const Manifest &manifest,
                             const StateAddress &address, const MeshPlace &place) {
  NewFolder folder(parent, info.step, getpid());
  folder.make();
  try {
    FileRecord model = writeTensors(folder, modelFile, entriesOf(manifest, true), address, place);
    FileRecord optimizer = writeTensors(folder, optimizerFile, entriesOf(manifest, false), address, place);
    commitCheckpoint(folder, manifestText(info, manifest, {model, optimizer}));
  } catch (...) {
    folder.remove();
    throw;
  }
  syncFolder(parent.path());
  return folder.final;
}

//===----------------------------------------------------------------------===//
// Several ranks
//===----------------------------------------------------------------------===//

namespace {
/// A tensor file that all ranks write.
struct SharedTensors {
  SharedTensors(const char *name, std::vector<const StateEntry *> state) : name(name), entries(std::move(state)) {
    std::vector<SafeTensorOutput> tensors;
    for (const StateEntry *entry : entries) tensors.push_back(outputOf(*entry));
    header = safetensorsHeader(tensors);
    bytes = static_cast<int64_t>(header.size());
    for (const SafeTensorOutput &tensor : tensors) bytes += tensor.bytes;
  }

  const char *name;
  std::vector<const StateEntry *> entries;
  std::string header;
  int64_t bytes; ///< of the file
};

/// A file of a new checkpoint, written at any place.
class PlacedFile {
public:
  PlacedFile(const NewFolder &folder, const char *name, int flags) : path(folder.final + "/" + name) {
    fd = open((folder.temporary + "/" + name).c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
    if (fd < 0) failSystem("write", path);
  }
  ~PlacedFile() {
    if (fd >= 0) close(fd);
  }
  PlacedFile(const PlacedFile &) = delete;

  void write(int64_t offset, std::string_view bytes) const { writeAt(fd, offset, bytes, path); }
  void resize(int64_t bytes) const {
    if (ftruncate(fd, bytes) != 0) failSystem("write", path);
  }
  void commit() { syncAndClose(fd, path); }

private:
  std::string path;
  int fd;
};

/// What tells a folder that the first rank makes from one of the same name on another machine: broadcast, and in the
/// folder until the manifest takes its place.
struct SaveToken {
  int64_t process = 0;
  uint64_t random[2] = {};

  std::string text() const { return fmt::format("process {} writes {:016x}{:016x}\n", process, random[0], random[1]); }
};

/// A checkpoint that all ranks write.
class SharedSave {
public:
  SharedSave(const CheckpointFolder &parent, const CheckpointInfo &info, const Manifest &manifest,
             const StateAddress &address, const MeshPlace &place, HostCommunicator &world)
      : parent(parent), address(address), place(place), world(world), token(makeToken(world)),
        folder(parent, info.step, token.process),
        tensors{{modelFile, entriesOf(manifest, true)}, {optimizerFile, entriesOf(manifest, false)}} {}

  std::string run(const CheckpointInfo &info, const Manifest &manifest) {
    try {
      onFirstRank(world, "creating a checkpoint", [&] { create(); });
      onAllRanks(world, "writing a checkpoint", [&] { writeParts(); });
      std::vector<uint64_t> own;
      onAllRanks(world, "hashing a checkpoint", [&] { own = hashOwnChunks(); });
      std::vector<FileRecord> records = gatherHashes(own);
      onFirstRank(world, "committing a checkpoint", [&] {
        commitCheckpoint(folder, manifestText(info, manifest, records));
        syncFolder(parent.path());
      });
    } catch (...) {
      if (isCreated) folder.remove(); // all ranks have left it
      throw;
    }
    return folder.final;
  }

private:
  static SaveToken makeToken(HostCommunicator &world) {
    SaveToken token;
    if (world.rank() == 0) {
      std::random_device random;
      token.process = getpid();
      for (uint64_t &word : token.random) word = uint64_t(random()) << 32 | random();
    }
    world.broadcast("name of a checkpoint", &token, sizeof(token), 0);
    return token;
  }

  void create() {
    folder.make();
    isCreated = true;
    folder.write(manifestFile, token.text());
    for (const SharedTensors &one : tensors) {
      PlacedFile file(folder, one.name, O_CREAT | O_EXCL);
      file.write(0, one.header);
      file.resize(one.bytes);
      file.commit();
    }
  }

  /// Without a file system that all ranks share, this rank's elements would be missing.
  void refuseOtherFolder() const {
    std::ifstream stream(folder.temporary + "/" + manifestFile);
    if (std::string(std::istreambuf_iterator<char>(stream), {}) == token.text()) return;
    fail("cannot write {}: this rank does not see the folder that rank 0 created for it; the checkpoint folder must be "
         "on a file system that all ranks share",
         folder.final);
  }

  void writeParts() {
    refuseOtherFolder();
    int64_t pieces = 0;
    for (const SharedTensors &one : tensors) {
      PlacedFile file(folder, one.name, 0);
      int64_t offset = static_cast<int64_t>(one.header.size());
      for (const StateEntry *entry : one.entries) {
        writePieces(file, offset, *entry, pieces);
        offset += entry->wholeElements() * bytesOf(entry->type);
        pieces += (entry->bytes + StatePart::pieceBytes - 1) / StatePart::pieceBytes;
      }
      file.commit();
    }
  }

  /// Writes this rank's part of an entry whose elements begin at `offset` in the file. The ranks that have the same
  /// part alternate; `pieces` have been written before, by all of them.
  void writePieces(const PlacedFile &file, int64_t offset, const StateEntry &entry, int64_t pieces) {
    StatePart part(entry, place);
    PartHolder holder = place.holderOf(entry);
    int64_t size = bytesOf(entry.type), step = part.pieceElements();
    for (int64_t first = 0; first < part.elements(); first += step) {
      if (pieces++ % holder.count != holder.number) continue;
      int64_t count = std::min(step, part.elements() - first);
      const char *from = part.dense(address(entry), first, count, buffer);
      part.forEachFileRun(first, count, [&](int64_t element, int64_t run) {
        file.write(offset + element * size, {from, static_cast<size_t>(run * size)});
        from += run * size;
      });
    }
  }

  /// Read from the files, with what other ranks wrote.
  std::vector<uint64_t> hashOwnChunks() const {
    ChunkShare share(world);
    std::vector<uint64_t> hashes(mostChunks());
    uint64_t *next = hashes.data();
    for (const SharedTensors &one : tensors) {
      MappedFile file(folder.temporary + "/" + one.name);
      if (static_cast<int64_t>(file.size()) != one.bytes)
        fail("cannot write {}/{}: it has {} bytes instead of {}", folder.final, one.name, file.size(), one.bytes);
      withMappedFiles([&] {
        for (size_t i = 0; i < chunksIn(file.size()); ++i)
          if (share.takesNext()) {
            std::string_view chunk = chunkOf(file.text(), i);
            *next++ = hashXxh64(chunk.data(), chunk.size());
          }
      });
    }
    return hashes;
  }

  /// The largest number of chunks of a rank.
  size_t mostChunks() const {
    return (chunksIn(tensors[0].bytes) + chunksIn(tensors[1].bytes) + world.size() - 1) / world.size();
  }

  std::vector<FileRecord> gatherHashes(const std::vector<uint64_t> &own) {
    size_t each = mostChunks(), chunk = 0;
    std::vector<uint64_t> all(each * world.size());
    world.allGather("hashes of a checkpoint", own.data(), all.data(), each * sizeof(uint64_t));
    std::vector<FileRecord> records;
    for (const SharedTensors &one : tensors) {
      FileRecord &record = records.emplace_back(FileRecord{one.name, one.bytes, {}});
      for (size_t i = 0; i < chunksIn(one.bytes); ++i, ++chunk)
        record.hashes.push_back(all[chunk % world.size() * each + chunk / world.size()]);
    }
    return records;
  }

  const CheckpointFolder &parent;
  const StateAddress &address;
  const MeshPlace &place;
  HostCommunicator &world;
  SaveToken token;
  NewFolder folder;
  SharedTensors tensors[2];
  bool isCreated = false; ///< by this rank
  std::vector<char> buffer;
};
} // namespace

std::string saveCheckpoint(const CheckpointFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                           const StateAddress &address, HostCommunicator &world) {
  MeshPlace place(manifest.target.ranks, world);
  if (world.size() == 1) return saveAlone(folder, info, manifest, address, place);
  return SharedSave(folder, info, manifest, address, place, world).run(info, manifest);
}

} // namespace tessera::runtime
