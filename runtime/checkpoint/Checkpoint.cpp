//===- Checkpoint.cpp - loading a run -------------------------------------===//
//
//   1. compare what the ranks see: it must be one checkpoint
//   2. verify the manifest, and the hashes of both tensor files: each rank those of its chunks
//   3. compare the tensors with the program's state table
//   4. read the elements of this rank's part
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/CheckpointManifest.h"
#include "runtime/checkpoint/StatePart.h"

#include <algorithm>
#include <filesystem>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace tessera::runtime {

std::vector<const StateEntry *> entriesOf(const Manifest &manifest, bool model) {
  std::vector<const StateEntry *> entries;
  for (const StateEntry &entry : manifest.state)
    if (entry.isModel() == model) entries.push_back(&entry);
  return entries;
}

namespace {
/// What a rank sees of a checkpoint. Its manifest has the hashes of all that is in it.
struct SeenManifest {
  uint64_t hash = 0; ///< of the manifest; 0: there is none
  uint64_t inode = 0;
  int64_t seconds = 0, nanoseconds = 0;

  bool operator==(const SeenManifest &) const = default;
};
} // namespace

static SeenManifest seenAt(const std::string &path) {
  SeenManifest seen;
  try {
    MappedFile file = openPart(path + "/" + manifestFile);
    FileVersion version = file.version();
    seen = {hashXxh64(file.data(), file.size()), version.inode, version.seconds, version.nanoseconds};
  } catch (const CheckpointDamaged &) { // missing, or empty
  }
  return seen;
}

/// Throws an Error unless all ranks see the checkpoint that rank 0 sees, or none.
static void requireOneCheckpoint(const std::string &path, const std::vector<SeenManifest> &seen) {
  for (size_t rank = 1; rank < seen.size(); ++rank) {
    if (seen[rank].hash == seen[0].hash) continue;
    const char *what = seen[rank].hash == 0 ? "no checkpoint there, but rank 0 does"
                       : seen[0].hash == 0  ? "a checkpoint there, but rank 0 does not"
                                            : "another checkpoint there than rank 0";
    fail("{}: rank {} sees {}; checkpoints must be on a file system that all ranks share", path, rank, what);
  }
}

ChunkShare shareOfCheckpoint(const std::string &path, HostCommunicator &world) {
  if (world.size() == 1) return {};
  SeenManifest own;
  onAllRanks(world, "manifest of a checkpoint", [&] { own = seenAt(path); });
  std::vector<SeenManifest> all(world.size());
  world.allGather("manifest of a checkpoint", &own, all.data(), sizeof(own));
  onAllRanks(world, "manifest of a checkpoint", [&] { requireOneCheckpoint(path, all); });
  bool isOneFile = std::all_of(all.begin(), all.end(), [&](const SeenManifest &seen) { return seen == all[0]; });
  return isOneFile ? ChunkShare(world) : ChunkShare(); // copies may be damaged in different places
}

static SafetensorsFile openVerified(const std::string &folder, const char *name, const Json &manifest,
                                    ChunkShare &share) {
  std::string path = folder + "/" + name;
  MappedFile file = openPart(path);
  return orDamaged(path, [&] {
    checkHashes(folder, name, file, manifest, share);
    return SafetensorsFile(std::move(file));
  });
}

/// Checks that a file has exactly the tensors of `entries`, in type and shape.
static void checkTensors(const SafetensorsFile &file, const std::vector<const StateEntry *> &entries) {
  for (const SafeTensor &tensor : file.tensors()) {
    bool known = std::any_of(entries.begin(), entries.end(), [&](auto *entry) { return entry->path == tensor.name; });
    if (!known) fail("{}: the program has no state '{}'", file.path(), tensor.name);
  }
  for (const StateEntry *entry : entries) {
    const SafeTensor *tensor = file.find(entry->path);
    if (!tensor) fail("{}: lacks '{}', which the program needs", file.path(), entry->path);
    checkTensor(file, *tensor, *entry);
  }
}

/// Checks both files of the checkpoint at `path`. What does not fit to the program is reported with what to do.
static void checkState(const std::string &path, const Manifest &manifest, const SafetensorsFile &model,
                       const SafetensorsFile &optimizer) {
  std::string start = "another --checkpoint-dir starts a new run, and --init " + path, advice;
  try {
    advice = start + " --only PATTERN lets it take over the parameters that fit";
    checkTensors(model, entriesOf(manifest, true));
    advice = start + " lets it take over the parameters, which fit";
    checkTensors(optimizer, entriesOf(manifest, false));
  } catch (const Error &e) {
    throw Error(fmt::format("{}; {}", e.what(), advice), e.exitStatus());
  }
}

static void readTensors(const SafetensorsFile &file, const std::vector<const StateEntry *> &entries,
                        const MeshPlace &place, const StateAddress &address) {
  for (const StateEntry *entry : entries) StatePart(*entry, place).read(file.find(entry->path)->data, address(*entry));
}

CheckpointInfo readCheckpointInfo(const std::string &path) { return infoIn(readManifestOf(path), path); }

CheckpointInfo loadCheckpoint(const std::string &path, const Manifest &manifest, const StateAddress &address,
                              HostCommunicator &world) {
  MeshPlace place(manifest.target.ranks, world);
  ChunkShare share = shareOfCheckpoint(path, world);
  CheckpointInfo info;
  std::optional<SafetensorsFile> model, optimizer;
  onAllRanks(world, "verifying a checkpoint", [&] {
    Json json = readManifestOf(path);
    info = infoIn(json, path);
    model.emplace(openVerified(path, modelFile, json, share));
    optimizer.emplace(openVerified(path, optimizerFile, json, share));
  });
  onAllRanks(world, "comparing a checkpoint", [&] { checkState(path, manifest, *model, *optimizer); });
  readTensors(*model, entriesOf(manifest, true), place, address);
  readTensors(*optimizer, entriesOf(manifest, false), place, address);
  return info;
}

bool looksWhole(const std::string &path) {
  try {
    Json manifest = readManifestOf(path);
    for (const Json &file : member(manifest, "files", path)) {
      uint64_t size = fs::file_size(path + "/" + asString(member(file, "name", path), path));
      if (size != static_cast<uint64_t>(asInteger(member(file, "bytes", path), path))) return false;
    }
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

SafetensorsFile openModel(const std::string &path, ChunkShare &share) {
  return openVerified(path, modelFile, readManifestOf(path), share);
}

} // namespace tessera::runtime
