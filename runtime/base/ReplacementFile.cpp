//===- ReplacementFile.cpp - a file that appears whole ----------------------===//

#include "runtime/base/ReplacementFile.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

static constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// The file that such a signal removes.
static char removedOnSignal[PATH_MAX];

extern "C" void tsrRemoveFileAndEnd(int signal) {
  unlink(removedOnSignal);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// Signals that are ignored, as under nohup, stay so.
static void replaceHandlers(void (*from)(int), void (*to)(int)) {
  for (int signal : endingSignals) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == from) std::signal(signal, to);
  }
}

ReplacementFile::ReplacementFile(const std::string &path)
    : path(path), temporary(fmt::format("{}.tmp-{}", path, getpid())) {
  struct stat old;
  bool replaces = stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  mode_t mode = replaces ? old.st_mode & 0777 : 0666;
  fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) failSystem("write", path);
  if (temporary.size() < sizeof(removedOnSignal)) {
    memcpy(removedOnSignal, temporary.c_str(), temporary.size() + 1);
    replaceHandlers(SIG_DFL, tsrRemoveFileAndEnd);
  }
  if (replaces) fchmod(fd, mode); // regardless of the umask; if it fails, the mode of open() stays
}

ReplacementFile::~ReplacementFile() {
  if (fd < 0) return;
  close(fd);
  unlink(temporary.c_str());
  replaceHandlers(tsrRemoveFileAndEnd, SIG_DFL);
}

void ReplacementFile::writeAt(int64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) failSystem("write", path);
    bytes.remove_prefix(written);
    offset += written;
  }
}

void ReplacementFile::commit() {
  if (fsync(fd) != 0 || rename(temporary.c_str(), path.c_str()) != 0) failSystem("write", path);
  replaceHandlers(tsrRemoveFileAndEnd, SIG_DFL);
  int closing = fd;
  fd = -1;
  if (close(closing) != 0) failSystem("write", path);
}

} // namespace tessera::runtime
