//===- DurableFile.cpp - files that survive a crash -----------------------===//

#include "runtime/base/DurableFile.h"

#include "runtime/base/Hash.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tessera::runtime {

void failSystem(const std::string &what, const std::string &path) {
  int code = errno;
  std::string message = fmt::format("cannot {} {}: {}", what, printable(path, longestArgument), strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) throw DiskFull(message);
  throw Error(message);
}

DurableFile::DurableFile(const std::string &path, const std::string &shown) : path(shown.empty() ? path : shown) {
  fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) failSystem("create", this->path);
}

DurableFile::~DurableFile() {
  if (fd >= 0) close(fd);
}

void DurableFile::append(const void *bytes, size_t size) {
  auto *at = static_cast<const char *>(bytes);
  total += size;
  chunk.reserve(chunkBytes); // one block: growing would take several, and leave holes in the heap
  while (size > 0) {
    size_t part = std::min(size, chunkBytes - chunk.size());
    chunk.insert(chunk.end(), at, at + part);
    at += part;
    size -= part;
    if (chunk.size() == chunkBytes) flushChunk();
  }
}

void DurableFile::flushChunk() {
  chunkHashes.push_back(hashXxh64(chunk.data(), chunk.size()));
  for (size_t done = 0; done < chunk.size();) {
    ssize_t written = write(fd, chunk.data() + done, chunk.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failSystem("write", path);
    done += written;
  }
  chunk.clear();
}

void DurableFile::commit() {
  if (!chunk.empty()) flushChunk();
  syncAndClose(fd, path);
}

size_t chunksIn(size_t bytes) { return (bytes + chunkBytes - 1) / chunkBytes; }

std::string_view chunkOf(std::string_view bytes, size_t number) {
  return bytes.substr(number * chunkBytes, chunkBytes);
}

void writeAt(int fd, int64_t offset, std::string_view bytes, const std::string &path) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failSystem("write", path);
    bytes.remove_prefix(written);
    offset += written;
  }
}

void syncFolder(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 && errno == EACCES) return; // it may be written, but not be read
  if (fd < 0) failSystem("open", path);
  bool isSynced = fsync(fd) == 0 || errno == EINVAL; // not every file system syncs folders
  int code = errno;
  close(fd);
  errno = code;
  if (!isSynced) failSystem("write", path);
}

void syncAndClose(int &fd, const std::string &path) {
  if (fsync(fd) != 0) failSystem("write", path);
  int closing = fd;
  fd = -1;
  if (close(closing) != 0) failSystem("write", path);
}

} // namespace tessera::runtime
