//===- ReplacementFile.cpp - a file that appears whole ----------------------===//

#include "runtime/base/ReplacementFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Signals that end the process
//===----------------------------------------------------------------------===//

/// A temporary name, for signal handlers: no locks, no allocation.
struct TemporaryName::Slot {
  enum State : int { Free, Taken, Set };
  std::atomic<int> state = Free;
  char name[PATH_MAX];

  static Slot all[4];
  /// A slot with this name; null if none is free.
  static Slot *take(const std::string &name);
};

TemporaryName::Slot TemporaryName::Slot::all[4];
static_assert(std::atomic<int>::is_always_lock_free);

TemporaryName::Slot *TemporaryName::Slot::take(const std::string &name) {
  if (name.size() >= sizeof(Slot::name)) return nullptr;
  for (Slot &slot : all) {
    int free = Free;
    if (!slot.state.compare_exchange_strong(free, Taken)) continue;
    memcpy(slot.name, name.c_str(), name.size() + 1);
    slot.state = Set;
    return &slot;
  }
  return nullptr;
}

void TemporaryName::removeAll() {
  for (const Slot &slot : Slot::all)
    if (slot.state == Slot::Set) unlink(slot.name);
}

static constexpr int endingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

extern "C" void tsrRemoveFilesAndEnd(int signal) {
  TemporaryName::removeAll();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

/// Signals that are ignored, as under nohup, stay so, and so do handlers of others.
static void replaceHandlers(void (*from)(int), void (*to)(int)) {
  for (int signal : endingSignals) {
    struct sigaction now;
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == from) std::signal(signal, to);
  }
}

//===----------------------------------------------------------------------===//
// Names and files
//===----------------------------------------------------------------------===//

/// PATH.tmp-PROCESS, without the end of PATH if the name of the file were too long.
static std::string temporaryOf(const std::string &path) {
  std::string suffix = fmt::format(".tmp-{}", getpid());
  size_t slash = path.rfind('/'), folder = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, std::min(path.size(), folder + NAME_MAX - suffix.size())) + suffix;
}

TemporaryName::TemporaryName(const std::string &path)
    : path(path), temporary(temporaryOf(path)), slot(Slot::take(temporary)) {
  if (slot) replaceHandlers(SIG_DFL, tsrRemoveFilesAndEnd);
}

TemporaryName::~TemporaryName() {
  if (temporary.empty()) return;
  unlink(temporary.c_str());
  release();
}

void TemporaryName::release() {
  temporary.clear();
  if (slot) slot->state = Slot::Free;
  bool isLast = std::all_of(std::begin(Slot::all), std::end(Slot::all), [](auto &s) { return s.state == Slot::Free; });
  if (isLast) replaceHandlers(tsrRemoveFilesAndEnd, SIG_DFL);
}

int TemporaryName::create() const {
  struct stat old;
  bool replaces = stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  mode_t mode = replaces ? old.st_mode & 07777 : 0666;
  int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode & 0777);
  if (fd < 0) failSystem("write", path);
  if (replaces) fchmod(fd, mode); // regardless of the umask; if it fails, the mode of open() stays
  return fd;
}

void TemporaryName::commit() {
  if (rename(temporary.c_str(), path.c_str()) != 0) failSystem("write", path);
  release();
  size_t slash = path.rfind('/');
  syncFolder(slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1)));
}

ReplacementFile::ReplacementFile(const std::string &path) : path(path), temporary(path), fd(temporary.create()) {}

ReplacementFile::~ReplacementFile() {
  if (fd >= 0) close(fd);
}

void ReplacementFile::writeAt(int64_t offset, std::string_view bytes) { runtime::writeAt(fd, offset, bytes, path); }

void ReplacementFile::commit() {
  syncAndClose(fd, path);
  temporary.commit();
}

void replaceFile(const std::string &path, const std::function<void(DurableFile &)> &write) {
  TemporaryName temporary(path);
  DurableFile file(path, temporary.create());
  write(file);
  temporary.commit();
}

} // namespace tessera::runtime
