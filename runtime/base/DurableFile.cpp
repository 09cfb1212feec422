//===- DurableFile.cpp - files that survive a crash -----------------------===//

#include "runtime/base/DurableFile.h"

#include "runtime/base/Hash.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

void failSystem(const std::string &what, const std::string &path) {
  int code = errno;
  std::string message = fmt::format("cannot {} {}: {}", what, printableLines(path), strerror(code));
  if (code == ENOSPC || code == EDQUOT || code == EFBIG) throw DiskFull(message);
  throw Error(message);
}

DurableFile::DurableFile(const std::string &path, std::optional<mode_t> mode) : path(path) {
  fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode.value_or(0666) & 0777);
  if (fd < 0) failSystem("create", path);
  if (mode) fchmod(fd, *mode & 07777); // regardless of the umask; if it fails, the mode of open() stays
}

DurableFile::~DurableFile() {
  if (fd >= 0) close(fd);
}

void DurableFile::append(const void *bytes, size_t size) {
  auto *at = static_cast<const char *>(bytes);
  total += size;
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
  if (fsync(fd) != 0) failSystem("write", path);
  int closing = fd;
  fd = -1;
  if (close(closing) != 0) failSystem("write", path);
}

void replaceFile(const std::string &path, const std::function<void(DurableFile &)> &write) {
  std::string temporary = fmt::format("{}.tmp-{}", path, getpid());
  struct stat old;
  std::optional<mode_t> mode;
  if (stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode)) mode = old.st_mode;
  try {
    DurableFile file(temporary, mode);
    write(file);
    if (rename(temporary.c_str(), path.c_str()) != 0) failSystem("write", path);
  } catch (...) {
    unlink(temporary.c_str());
    throw;
  }
}

std::vector<uint64_t> hashChunks(std::string_view bytes) {
  std::vector<uint64_t> hashes;
  for (size_t at = 0; at < bytes.size(); at += chunkBytes)
    hashes.push_back(hashXxh64(bytes.data() + at, std::min(chunkBytes, bytes.size() - at)));
  return hashes;
}

void syncFolder(const std::string &path) {
  int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) failSystem("open", path);
  int status = fsync(fd);
  close(fd);
  if (status != 0) failSystem("write", path);
}

} // namespace tessera::runtime
