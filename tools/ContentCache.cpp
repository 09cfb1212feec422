//===- ContentCache.cpp - values on disk, under a hash of what decides them ===//
//
// A file is a line that says what it is, the hash of the key and the value, and the value. It is written under another
// name and renamed. Its time of change is when it was used last.
//
//===----------------------------------------------------------------------===//

#include "tools/ContentCache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
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

static void markAsUsed(StringRef path) {
  int file;
  if (sys::fs::openFileForReadWrite(path, file, sys::fs::CD_OpenExisting, sys::fs::OF_None)) return;
  (void)sys::fs::setLastAccessAndModificationTime(file, std::chrono::system_clock::now());
  (void)sys::Process::SafelyCloseFileDescriptor(file);
}

std::optional<std::string> ContentCache::read(StringRef key) const {
  std::string path = pathOf(key);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!buffer) return std::nullopt;
  StringRef value = (*buffer)->getBuffer();
  if (!value.consume_front(magic)) return std::nullopt;
  StringRef hash = value.take_front(64);
  value = value.drop_front(hash.size());
  if (hash != hashOf({key, value})) return std::nullopt;
  markAsUsed(path);
  return value.str();
}

std::error_code ContentCache::write(StringRef key, StringRef value) const {
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
    if (sys::fs::status(it->path(), status)) continue;
    bool isLeft = std::chrono::system_clock::now() - status.getLastModificationTime() > longestWrite;
    if (StringRef(it->path()).ends_with(temporarySuffix) && isLeft) (void)sys::fs::remove(it->path());
    if (!StringRef(it->path()).ends_with(suffix)) continue;
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

std::string tessera::cacheFolder() {
  if (std::optional<std::string> folder = sys::Process::GetEnv("TESSERA_CACHE_DIR"); folder && !folder->empty())
    return *folder;
  SmallString<128> path;
  if (!sys::path::cache_directory(path)) return "";
  sys::path::append(path, "tessera");
  return path.str().str();
}
