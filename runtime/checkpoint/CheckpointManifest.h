//===- CheckpointManifest.h - manifest.json of a checkpoint ---------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTMANIFEST_H
#define TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTMANIFEST_H

#include "runtime/checkpoint/Checkpoint.h"

namespace tessera::runtime {

/// The state in the model's file of a checkpoint, or in the optimizer's, in the order of the files.
std::vector<const StateEntry *> entriesOf(const Manifest &manifest, bool model);

/// A tensor file of a checkpoint that was written.
struct FileRecord {
  std::string name;
  int64_t bytes = 0;
  std::vector<uint64_t> hashes; ///< XXH64 of each chunk
};

/// The text of a checkpoint's manifest.
std::string manifestText(const CheckpointInfo &info, const Manifest &manifest, const std::vector<FileRecord> &files);

/// Reads the manifest of the checkpoint at `folder`. Throws CheckpointDamaged if it is missing or does not match its
/// hash, an Error if it cannot be read or is of another format.
Json readManifestOf(const std::string &folder);

/// What such a manifest says.
CheckpointInfo infoIn(const Json &manifest, const std::string &folder);

/// Compares the tensor file `name` of a checkpoint with its manifest: its size, and the hashes of the chunks of
/// `share`. Throws CheckpointDamaged if they differ.
void checkHashes(const std::string &folder, const char *name, const MappedFile &file, const Json &manifest,
                 ChunkShare &share);

/// Opens a file of a checkpoint. A missing or empty file is damage. A file that cannot be read (it may be intact) is an
/// Error.
MappedFile openPart(const std::string &path);

template <typename... Args> [[noreturn]] void damaged(fmt::format_string<Args...> format, Args &&...args) {
  throw CheckpointDamaged(fmt::format(format, std::forward<Args>(args)...));
}

/// Runs `read`, which reads the file `path`; malformed contents are damage.
template <typename Read> auto orDamaged(const std::string &path, Read read) {
  try {
    return read();
  } catch (const Error &e) {
    throw CheckpointDamaged(e.what());
  } catch (const Json::exception &e) {
    throw CheckpointDamaged(fmt::format("{}: {}", path, reasonOf(e)));
  }
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_CHECKPOINTMANIFEST_H
