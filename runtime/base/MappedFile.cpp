//===- MappedFile.cpp - memory-mapped files -------------------------------===//

#include "runtime/base/MappedFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/FilePattern.h"
#include "runtime/base/ReplacementFile.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Reading a mapped page that cannot be loaded raises SIGBUS.
//===----------------------------------------------------------------------===//

namespace {
/// The mapped files, for the signal handler: no locks, no allocation.
struct MappedRegion {
  std::atomic<const char *> begin = nullptr;
  std::atomic<size_t> size = 0;
  char path[512] = {};
};

/// A block of them. Blocks are added and never removed.
struct RegionBlock {
  MappedRegion regions[64];
  std::atomic<RegionBlock *> next = nullptr;
};
} // namespace

static RegionBlock firstBlock;
static thread_local sigjmp_buf *jumpTarget = nullptr;
static thread_local char lostFile[600];

template <typename Predicate> static MappedRegion *findRegion(Predicate wanted) {
  for (RegionBlock *block = &firstBlock; block; block = block->next)
    for (MappedRegion &region : block->regions)
      if (wanted(region)) return &region;
  return nullptr;
}

static void onBusError(int signal, siginfo_t *info, void *) {
  auto *at = static_cast<const char *>(info->si_addr);
  auto holds = [at](const MappedRegion &region) {
    const char *begin = region.begin;
    return begin && at >= begin && at < begin + region.size;
  };
  if (const MappedRegion *region = findRegion(holds)) {
    snprintf(lostFile, sizeof(lostFile), "%s: byte %zu: the file was truncated or cannot be read any more",
             region->path, static_cast<size_t>(at - region->begin));
    if (jumpTarget) siglongjmp(*jumpTarget, 1);
    dprintf(STDERR_FILENO, "error: %s\n", lostFile);
    TemporaryName::removeAll();
    _exit(1);
  }
  std::signal(signal, SIG_DFL); // not in our files: the access is repeated and ends the process
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
  MappedRegion *region = findRegion([](const MappedRegion &region) { return !region.begin; });
  if (!region) {
    auto *block = new RegionBlock;
    region = &block->regions[0];
    block->next = firstBlock.next.load();
    firstBlock.next = block; // published last: the handler sees complete blocks only
  }
  snprintf(region->path, sizeof(region->path), "%s", printable(path).c_str());
  region->size = size;
  region->begin = static_cast<const char *>(map);
}

static void unwatch(const void *map) {
  if (MappedRegion *region = findRegion([map](const MappedRegion &region) { return region.begin == map; }))
    region->begin = nullptr;
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

MappedFile::MappedFile(const std::string &path, const SizeFromHeader &inflatedSize) : name(path) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // opening a pipe must not block
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
  opened = FileVersion::of(info);
  watch(map, mapped, path);
  if (inflatedSize && count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) try {
      inflateWhole(inflatedSize);
      checkUnchanged();
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

MappedFile &MappedFile::operator=(MappedFile other) noexcept {
  std::swap(name, other.name);
  std::swap(bytes, other.bytes);
  std::swap(count, other.count);
  std::swap(mapped, other.mapped);
  std::swap(map, other.map);
  std::swap(opened, other.opened);
  std::swap(inflated, other.inflated);
  return *this;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), bytes(other.bytes), count(other.count), mapped(other.mapped), map(other.map),
      opened(other.opened), inflated(std::move(other.inflated)) {
  other.map = nullptr;
}

FileVersion FileVersion::of(const struct stat &info) {
  return {info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
}

void MappedFile::checkUnchanged() const {
  struct stat info;
  if (stat(name.c_str(), &info) != 0) return;
  FileVersion now = FileVersion::of(info);
  if (!now.isSameFile(opened) || now == opened) return;
  const char *advice = "data files must stay as they are during a run; restore the file and run again";
  if (now.size != opened.size)
    fail("{}: the file was changed while it was read: it had {} bytes and has {}; {}", name, opened.size, now.size,
         advice);
  fail("{}: the file was written to while it was read; {}", name, advice);
}

bool haveEqualContent(const std::string &a, const std::string &b, int64_t largest) {
  struct stat infoA, infoB;
  if (stat(a.c_str(), &infoA) != 0 || stat(b.c_str(), &infoB) != 0 || infoA.st_size != infoB.st_size) return false;
  if (infoA.st_size == 0 || infoA.st_size > largest) return false;
  MappedFile fileA(a), fileB(b);
  return fileA.text() == fileB.text();
}

namespace {
/// Inflates gzip data in blocks, member by member.
class Inflater {
public:
  Inflater(const std::string &name, const unsigned char *bytes, size_t count) : name(name), end(bytes + count) {
    if (inflateInit2(&stream, 15 + 16) != Z_OK) fail("{}: cannot inflate", name);
    begin = stream.next_in = const_cast<unsigned char *>(bytes);
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater &) = delete;

  /// Writes up to `size` bytes; fewer only at the end of the data.
  size_t read(unsigned char *dst, size_t size) {
    size_t done = 0;
    while (done < size && !finished) {
      // zlib counts in 32 bits.
      size_t offered = std::min<size_t>(size - done, 1 << 30);
      stream.avail_in = std::min<size_t>(end - stream.next_in, 1 << 30);
      stream.next_out = dst + done;
      stream.avail_out = offered;
      int status = inflate(&stream, Z_NO_FLUSH);
      done += offered - stream.avail_out;
      if (status == Z_STREAM_END)
        beginMember();
      else if (status != Z_OK)
        fail("{}: byte {}: gzip data damaged or truncated", name, stream.next_in - begin);
    }
    return done;
  }

private:
  /// After a member: starts the next one, or ends.
  void beginMember() {
    finished = stream.next_in == end;
    if (finished) return;
    if (end - stream.next_in < 2 || stream.next_in[0] != 0x1f || stream.next_in[1] != 0x8b)
      fail("{}: byte {}: data after the end of the gzip stream", name, stream.next_in - begin);
    inflateReset(&stream);
  }

  const std::string &name;
  z_stream stream = {};
  const unsigned char *begin = nullptr, *end;
  bool finished = false;
};
} // namespace

void MappedFile::inflateWhole(const SizeFromHeader &inflatedSize) {
  Inflater inflater(name, bytes, count);
  inflated.resize(inflatedHeaderBytes);
  inflated.resize(inflater.read(inflated.data(), inflated.size()));
  size_t total = inflatedSize({reinterpret_cast<char *>(inflated.data()), inflated.size()});
  // A block of deflate holds at most 258 bytes in 2 bits.
  if (total / 1032 > count)
    fail("{}: its header claims {} bytes, which {} gzipped bytes cannot hold: the file is damaged or truncated", name,
         total, count);
  // Grows with the data that were inflated, up to the claimed size: a small file that claims a large size takes
  // little memory.
  for (size_t have = inflated.size(), got = have; have < total && got > 0; have += got) {
    size_t room = std::min(total - have, std::max<size_t>(have, 64 << 10));
    inflated.reserve(have + room);
    inflated.resize(have + room);
    got = inflater.read(inflated.data() + have, room);
    inflated.resize(have + got);
  }
  unsigned char extra;
  if (inflated.size() > total || (inflated.size() == total && inflater.read(&extra, 1) > 0))
    fail("{}: its header claims {} bytes, the inflated data are more", name, total);
  bytes = inflated.data();
  count = inflated.size();
}

void refuseGzip(const MappedFile &file, const std::string &format) {
  // Magic, the only defined method, flags whose upper three bits are 0: token files practically never begin like
  // that.
  const unsigned char *bytes = file.data();
  if (file.size() < 4 || bytes[0] != 0x1f || bytes[1] != 0x8b || bytes[2] != 8 || (bytes[3] & 0xe0)) return;
  fail("{}: byte 0: the file is gzipped, {} data is read as it is; unpack it with gunzip", file.path(), format);
}

std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns) {
  std::vector<std::string> files;
  for (const std::string &pattern : patterns) {
    std::vector<std::string> found = filesMatching(pattern);
    if (found.empty()) fail("no data file matches {}; name one with --data", pattern);
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

std::string joinedPaths(const std::vector<std::string> &paths) {
  std::string text;
  for (const std::string &path : paths) text += (text.empty() ? "" : ", ") + path;
  return text;
}

} // namespace tessera::runtime
