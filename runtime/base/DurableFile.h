//===- DurableFile.h - files that survive a crash -------------------------===//

#ifndef TESSERA_RUNTIME_BASE_DURABLEFILE_H
#define TESSERA_RUNTIME_BASE_DURABLEFILE_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tessera::runtime {

/// The disk is full, or a quota or file size limit is reached.
class DiskFull : public Error {
public:
  using Error::Error;
};

/// Bytes of a file that one hash covers.
inline constexpr size_t chunkBytes = 16 << 20;

/// A new file, written sequentially and hashed in chunks.
class DurableFile {
public:
  /// `mode`: the file's mode, instead of the umask's default.
  explicit DurableFile(const std::string &path, std::optional<mode_t> mode = std::nullopt);
  ~DurableFile();
  DurableFile(const DurableFile &) = delete;

  void append(const void *bytes, size_t size);
  /// Writes what is buffered, calls fsync and closes.
  void commit();

  uint64_t size() const { return total; }
  /// XXH64 of each chunk, after commit().
  const std::vector<uint64_t> &hashes() const { return chunkHashes; }

private:
  void flushChunk();

  std::string path;
  int fd = -1;
  uint64_t total = 0;
  std::vector<char> chunk;
  std::vector<uint64_t> chunkHashes;
};

/// Replaces the file at `path` atomically: `write` fills and commits a temporary file beside it. On any error the old
/// file stays and the temporary one is removed. The new file has the old one's mode.
void replaceFile(const std::string &path, const std::function<void(DurableFile &)> &write);

/// XXH64 of each chunk of `bytes`.
std::vector<uint64_t> hashChunks(std::string_view bytes);

/// Makes the names in a folder durable (fsync of the folder).
void syncFolder(const std::string &path);

/// Throws DiskFull or Error for the current errno.
[[noreturn]] void failSystem(const std::string &what, const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_DURABLEFILE_H
