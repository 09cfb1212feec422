//===- RecordFile.cpp - a file of complete records ------------------------===//

#include "runtime/train/RecordFile.h"

#include "runtime/base/Error.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

namespace tessera::runtime {

/// Limit of the records that wait for disk space: tens of thousands of steps.
static constexpr size_t longestKept = 16 << 20;

int openToAppend(const std::string &path, bool exclusive) {
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | (exclusive ? O_EXCL : 0);
  int fd = ::open(path.c_str(), flags, 0666);
  if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

std::string whyNotOpened(const std::string &path) {
  int code = errno;
  struct stat info;
  if (code != ENXIO || stat(path.c_str(), &info) != 0) return strerror(code);
  if (S_ISFIFO(info.st_mode)) return "the pipe has no reader";
  bool isTerminal = S_ISCHR(info.st_mode) && info.st_rdev == makedev(5, 0); // /dev/tty
  return isTerminal ? "this process has no terminal" : strerror(code);
}

RecordFile::~RecordFile() {
  if (fd < 0) return;
  flush();
  giveBack();
}

void RecordFile::giveBack() {
  if (fd > STDERR_FILENO) close(fd);
  fd = -1;
}

void RecordFile::take(int file, std::string newName) {
  giveBack();
  fd = file, name = std::move(newName);
  struct stat info;
  regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
}

void RecordFile::append(std::string_view record) {
  if (unread) return;
  if (kept.size() + record.size() > longestKept)
    ++lost;
  else
    kept += record, ends.push_back(kept.size());
  auto now = std::chrono::steady_clock::now();
  if (!regular || now - flushed >= std::chrono::seconds(1)) flush();
}

/// Whether a write of PIPE_BUF bytes would not block.
bool RecordFile::takesMore() const {
  pollfd wanted = {fd, POLLOUT, 0};
  return poll(&wanted, 1, 0) > 0;
}

/// The position of the next write.
static off_t position(int fd) {
  struct stat info;
  bool appends = fcntl(fd, F_GETFL) & O_APPEND;
  if (appends) return fstat(fd, &info) == 0 ? info.st_size : -1;
  return lseek(fd, 0, SEEK_CUR);
}

/// Truncates a file of `end` bytes to `keep`.
static bool takeBack(int fd, off_t end, off_t keep) {
  struct stat info;
  return fstat(fd, &info) == 0 && info.st_size == end && ftruncate(fd, keep) == 0 && lseek(fd, keep, SEEK_SET) == keep;
}

/// Removes what was written from the buffer.
void RecordFile::drop(size_t bytes) {
  kept.erase(0, bytes);
  ends.erase(ends.begin(), std::upper_bound(ends.begin(), ends.end(), bytes));
  for (size_t &end : ends) end -= bytes;
}

/// Writes the buffer; takes back an incomplete record if possible. Returns false and sets errno if something is left.
bool RecordFile::writeKept() {
  off_t begin = regular ? position(fd) : -1;
  size_t done = 0;
  int code = 0;
  while (done < kept.size() && code == 0) {
    size_t part = kept.size() - done;
    if (interrupted) part = takesMore() ? std::min<size_t>(part, PIPE_BUF) : 0;
    ssize_t written = part > 0 ? write(fd, kept.data() + done, part) : 0;
    if (written > 0)
      done += written;
    else if (written == 0)
      code = EAGAIN;
    else if (errno != EINTR || !regular)
      code = errno;
  }
  interrupted = code == EINTR || (interrupted && code == EAGAIN);
  auto cut = std::upper_bound(ends.begin(), ends.end(), done);
  size_t whole = cut == ends.begin() ? 0 : *std::prev(cut);
  if (whole < done && begin >= 0 && takeBack(fd, begin + done, begin + whole)) done = whole;
  drop(done);
  errno = code;
  return code == 0;
}

bool RecordFile::flush() {
  flushed = std::chrono::steady_clock::now();
  if (fd < 0 || kept.empty()) return !unread;
  if (writeKept()) {
    if (lost > 0) {
      warn("warning: {} can be written again; {} records are lost", name, std::exchange(lost, 0));
      hasGaps = true;
    }
    warned = false;
    return true;
  }
  int code = errno;
  if (code == EINTR || code == EAGAIN) return true; // the reader is slow
  if (code == EPIPE) unread = true, drop(kept.size());
  warnOnce(code);
  errno = code;
  return false;
}

/// `warned` is reset by a write that succeeds.
void RecordFile::warnOnce(int code) {
  if (!std::exchange(warned, true))
    warn("warning: cannot write {}: {}; {}", name, strerror(code),
         unread ? "nothing more is written to it" : "records are buffered and written when that is possible");
}

void RecordFile::sync() {
  if (fd < 0 || unread || !flush()) return;
  if (regular && fsync(fd) != 0) warnOnce(errno);
}

bool RecordFile::finish() {
  if (fd < 0 || unread) return true;
  bool isWritten = flush() && kept.empty() && (!regular || fsync(fd) == 0);
  int code = errno;
  if (unread) return true;
  if (isWritten) return !hasGaps; // which were said
  bool isSlow = code == EINTR || code == EAGAIN;
  warn("error: {}: the last {} records could not be written: {}", name, ends.size() + lost,
       isSlow ? "the reader does not read" : strerror(code));
  return false;
}

} // namespace tessera::runtime
