//===- MappedFile.cpp - a file as bytes ---------------------------------------===//

#include "runtime/data/MappedFile.h"

#include "runtime/Error.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// A mapped page that cannot be read is a SIGBUS
//===----------------------------------------------------------------------===//

namespace {
/// The mapped files, for a signal handler: no lock, no allocation.
struct MappedRegion {
  std::atomic<const char *> begin = nullptr;
  std::atomic<size_t> size = 0;
  char path[512] = {};
};
} // namespace

static MappedRegion regions[256]; // of more files than that some go without a name
static thread_local sigjmp_buf *jumpTarget = nullptr;
static thread_local char lostFile[600];

static void onBusError(int signal, siginfo_t *info, void *) {
  auto *at = static_cast<const char *>(info->si_addr);
  for (MappedRegion &region : regions) {
    const char *begin = region.begin;
    if (!begin || at < begin || at >= begin + region.size) continue;
    snprintf(lostFile, sizeof(lostFile), "%s: byte %zu: the file was cut short or cannot be read any more", region.path,
             static_cast<size_t>(at - begin));
    if (jumpTarget) siglongjmp(*jumpTarget, 1);
    dprintf(STDERR_FILENO, "error: %s\n", lostFile);
    _exit(1);
  }
  std::signal(signal, SIG_DFL); // not ours: the access is made again, and ends the process
}

static void watch(const void *map, size_t size, const std::string &path) {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)installed;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  for (MappedRegion &region : regions) {
    if (region.begin) continue;
    snprintf(region.path, sizeof(region.path), "%s", path.c_str());
    region.size = size;
    region.begin = static_cast<const char *>(map);
    return;
  }
}

static void unwatch(const void *map) {
  for (MappedRegion &region : regions)
    if (region.begin == map) region.begin = nullptr;
}

void withMappedFiles(const std::function<void()> &read) {
  sigjmp_buf here;
  if (sigsetjmp(here, 1)) {
    jumpTarget = nullptr;
    fail("{}", lostFile);
  }
  jumpTarget = &here;
  try {
    read();
  } catch (...) {
    jumpTarget = nullptr;
    throw;
  }
  jumpTarget = nullptr;
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

MappedFile::MappedFile(const std::string &path, bool inflate) : name(path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cannot open {}: {}", path, strerror(errno));
  struct stat info;
  bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (regular && info.st_size > 0) map = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (!regular) fail("{}: not a regular file", path);
  if (info.st_size == 0) fail("{}: byte 0: the file is empty", path);
  if (map == MAP_FAILED) {
    map = nullptr;
    fail("cannot map {}: {}", path, strerror(errno));
  }
  bytes = static_cast<const unsigned char *>(map);
  count = mapped = info.st_size;
  watch(map, mapped, path);
  if (inflate && count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) try {
      inflateWhole();
    } catch (...) {
      unwatch(map);
      munmap(map, mapped); // a destructor does not run for a constructor that throws
      throw;
    }
}

MappedFile::~MappedFile() {
  if (!map) return;
  unwatch(map);
  munmap(map, mapped);
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), bytes(other.bytes), count(other.count), mapped(other.mapped), map(other.map),
      inflated(std::move(other.inflated)) {
  other.map = nullptr;
}

void MappedFile::inflateWhole() {
  z_stream stream = {};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) fail("{}: cannot inflate", name);
  stream.next_in = const_cast<unsigned char *>(bytes);
  size_t left = count;
  int status = Z_OK;
  // Grows with what arrives, never by what a header claims.
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      stream.avail_in = std::min<size_t>(left, 1 << 30);
      left -= stream.avail_in;
    }
    size_t have = inflated.size(), room = std::max<size_t>(have / 2, 64 << 10);
    inflated.resize(have + room);
    stream.next_out = inflated.data() + have;
    stream.avail_out = std::min<size_t>(room, 1 << 30);
    size_t offered = stream.avail_out;
    status = inflate(&stream, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    inflated.resize(have + offered - stream.avail_out);
    if (status == Z_BUF_ERROR && stream.avail_out == 0) status = Z_OK;
  }
  size_t consumed = count - left - stream.avail_in;
  inflateEnd(&stream);
  if (status != Z_STREAM_END) fail("{}: byte {}: gzip data damaged or cut short", name, consumed);
  if (consumed != count) fail("{}: byte {}: data behind the end of the gzip stream", name, consumed);
  bytes = inflated.data();
  count = inflated.size();
}

std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns) {
  std::vector<std::string> files;
  for (const std::string &pattern : patterns) {
    glob_t found = {};
    int status = glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
    for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
    globfree(&found);
    if (status == 0) continue;
    // A file whose name happens to hold a bracket.
    if (access(pattern.c_str(), F_OK) == 0)
      files.push_back(pattern);
    else
      fail("no data file matches {}; name one with --data", pattern);
  }
  return files;
}

} // namespace tessera::runtime
