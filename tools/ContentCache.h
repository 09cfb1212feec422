//===- ContentCache.h - values on disk, under a hash of their description ---===//
//
// A folder with a file for each value. Several processes may use it at once: a
// file appears whole or not at all, and a damaged file counts as missing.
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
  /// Values in `folder`, which the first write creates; at most `maxBytes` in total.
  ContentCache(std::string folder, uint64_t maxBytes) : folder(std::move(folder)), maxBytes(maxBytes) {}

  /// The key of the value that `description` determines: its hash.
  static std::string keyFor(llvm::StringRef description);

  /// The value of that key. None if there is none, or if its file cannot be read or is damaged.
  std::optional<std::string> read(llvm::StringRef key) const;

  /// Stores a value, replaces one of the same key, and removes those that were used longest ago if all are too large.
  /// Without an error it may be read; with one the folder is as it was.
  std::error_code write(llvm::StringRef key, llvm::StringRef value) const;

  const std::string &getFolder() const { return folder; }

private:
  std::string pathOf(llvm::StringRef key) const;
  void prune() const;

  std::string folder;
  uint64_t maxBytes;
};

} // namespace tessera

#endif // TESSERA_TOOLS_CONTENTCACHE_H
