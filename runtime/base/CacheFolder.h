//===- CacheFolder.h - where a user's caches are --------------------------===//

#ifndef TESSERA_RUNTIME_BASE_CACHEFOLDER_H
#define TESSERA_RUNTIME_BASE_CACHEFOLDER_H

#include <string>

namespace tessera::runtime {

/// `$TESSERA_CACHE_DIR`, else `$XDG_CACHE_HOME/tessera`, else `~/.cache/tessera`; empty if there is no home folder.
/// The folder may not exist.
std::string cacheFolder();

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_CACHEFOLDER_H
