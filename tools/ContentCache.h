//===- ContentCache.h - values on disk, under a hash of what decides them --===//
//
// A folder with a file for each value. Several processes may use it at once: a
// file appears whole or not at all, and one that was damaged since is none.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_CONTENTCACHE_H
#define TESSERA_TOOLS_CONTENTCACHE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <system_error>

namespace tessera {

class ContentCache {
public:
  /// Values in `folder`, which is made when the first is written; at most `maxBytes` of them.
  ContentCache(std::string folder, uint64_t maxBytes) : folder(std::move(folder)), maxBytes(maxBytes) {}

  /// The name under which values are kept that `description` decides: its hash.
  static std::string keyFor(llvm::StringRef description);

  /// The value of that key. None if there is none, or if its file cannot be read or is not what was written.
  std::optional<std::string> read(llvm::StringRef key) const;

  /// Keeps a value, in place of one that is there, and removes those that were used longest ago if all are too large.
  /// Without an error it may be read; with one the folder is as it was.
  std::error_code write(llvm::StringRef key, llvm::StringRef value) const;

  const std::string &getFolder() const { return folder; }

private:
  std::string pathOf(llvm::StringRef key) const;
  void prune() const;

  std::string folder;
  uint64_t maxBytes;
};

/// Where the compiler keeps what it made: `$TESSERA_CACHE_DIR`, else `$XDG_CACHE_HOME/tessera`, else
/// `~/.cache/tessera`; empty if there is no home either.
std::string cacheFolder();

} // namespace tessera

#endif // TESSERA_TOOLS_CONTENTCACHE_H
