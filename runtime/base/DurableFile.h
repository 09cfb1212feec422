//===- DurableFile.h - files that survive a crash -------------------------===//

#ifndef TESSERA_RUNTIME_BASE_DURABLEFILE_H
#define TESSERA_RUNTIME_BASE_DURABLEFILE_H

#include "runtime/base/Error.h"

#include <cstdint>
#include <functional>
#include <string_view>
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
  /// Creates the file. Messages call it `shown`, if that is not empty: what will be its path.
  explicit DurableFile(const std::string &path, const std::string &shown = "");
  /// Takes over an empty open file, which messages call `path`.
  DurableFile(std::string path, int file) : path(std::move(path)), fd(file) {}
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

/// The number of chunks of so many bytes.
size_t chunksIn(size_t bytes);
/// Chunk `number` of `bytes`; the last one may be shorter than others.
std::string_view chunkOf(std::string_view bytes, size_t number);

/// Writes all of `bytes` to an open file, from byte `offset` on. Messages call it `path`. Throws as failSystem.
void writeAt(int fd, int64_t offset, std::string_view bytes, const std::string &path);

/// Makes the names in a folder durable (fsync of the folder), where the folder may be read and its file system can.
void syncFolder(const std::string &path);

/// Calls fsync, and closes `fd` and sets it to -1. Throws as failSystem.
void syncAndClose(int &fd, const std::string &path);

/// Throws DiskFull or Error for the current errno.
[[noreturn]] void failSystem(const std::string &what, const std::string &path);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_DURABLEFILE_H
