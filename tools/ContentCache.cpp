//===- ContentCache.cpp - values on disk, under a hash of what decides them ===//
//
// A file is a line that says what it is, the hash of the key and the value, and the value. It is written under another
// name and renamed. Its time of change is when it was used last.
//
//===----------------------------------------------------------------------===//

#include "tools/ContentCache.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace tessera;

static constexpr StringLiteral magic = "tessera cache 1\n";

/// Ends of the names of files that the cache made; other files in the folder are not its own.
static constexpr StringLiteral suffix = ".entry", temporarySuffix = ".entry-tmp";

/// A file that has its temporary name for so long was left by a process that was ended.
static constexpr std::chrono::hours longestWrite(1);

static std::string hashOf(ArrayRef<StringRef> texts) {
  SHA256 hash;
  for (StringRef text : texts) hash.update(text);
  return toHex(hash.final(), /*LowerCase=*/true);
}

std::string ContentCache::keyFor(StringRef description) { return hashOf(description); }

std::string ContentCache::pathOf(StringRef key) const { return (folder + "/" + key + suffix).str(); }

/// Opens a regular file of at most `maxBytes`; -1 if that cannot be done. Whatever else has the name of an entry is
/// left alone: opening it does not wait for the writer of a pipe, and a device is not read.
static int openEntry(const std::string &path, uint64_t maxBytes, uint64_t &size) {
  int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat info;
  if (file < 0) return -1;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && static_cast<uint64_t>(info.st_size) <= maxBytes) {
    size = info.st_size;
    return file;
  }
  close(file);
  return -1;
}

std::optional<std::string> ContentCache::read(StringRef key) const {
  uint64_t size = 0;
  int file = openEntry(pathOf(key), maxBytes, size);
  if (file < 0) return std::nullopt;
  llvm::scope_exit closeFile([&] { close(file); });
  auto buffer = MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(file), "entry", size,
                                          /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!buffer) return std::nullopt;
  StringRef value = (*buffer)->getBuffer();
  if (!value.consume_front(magic)) return std::nullopt;
  StringRef hash = value.take_front(64);
  value = value.drop_front(hash.size());
  if (hash != hashOf({key, value})) return std::nullopt;
  (void)futimens(file, nullptr); // used now
  return value.str();
}

std::error_code ContentCache::write(StringRef key, StringRef value) const {
  if (value.size() > maxBytes / 2) return std::make_error_code(std::errc::file_too_large);
  if (std::error_code error = sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::owner_all))
    return error;
  SmallString<128> temporary;
  int file;
  if (std::error_code error = sys::fs::createUniqueFile(folder + "/%%%%%%%%%%%%" + temporarySuffix, file, temporary))
    return error;
  raw_fd_ostream out(file, /*shouldClose=*/true);
  out << magic << hashOf({key, value}) << value;
  out.close();
  std::error_code error = out.error();
  out.clear_error();
  if (!error) error = sys::fs::rename(temporary, pathOf(key));
  if (error) return (void)sys::fs::remove(temporary), error;
  prune();
  return {};
}

/// Removes what was used longest ago until the rest takes three quarters of what it may, if it takes more than all.
/// Other processes may do the same at once; a file that is gone already is no error.
void ContentCache::prune() const {
  struct Entry {
    sys::TimePoint<> used;
    std::string path;
    uint64_t size;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (sys::fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    sys::fs::file_status status;
    if (sys::fs::status(it->path(), status, /*follow=*/false) || status.type() != sys::fs::file_type::regular_file)
      continue;
    bool isLeft = std::chrono::system_clock::now() - status.getLastModificationTime() > longestWrite;
    if (StringRef(it->path()).ends_with(temporarySuffix) && isLeft) (void)sys::fs::remove(it->path());
    if (!StringRef(it->path()).ends_with(suffix) || status.getSize() > maxBytes) continue; // not written by a cache
    entries.push_back({status.getLastModificationTime(), it->path(), status.getSize()});
    total += status.getSize();
  }
  if (total <= maxBytes) return;
  llvm::sort(entries,
             [](const Entry &a, const Entry &b) { return std::tie(a.used, a.path) < std::tie(b.used, b.path); });
  for (const Entry &entry : entries) {
    if (total <= maxBytes - maxBytes / 4) return;
    (void)sys::fs::remove(entry.path);
    total -= entry.size;
  }
}
