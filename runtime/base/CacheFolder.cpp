//===- CacheFolder.cpp - where a user's caches are ------------------------===//

#include "runtime/base/CacheFolder.h"

#include <cstdlib>
#include <filesystem>

namespace tessera::runtime {

static std::filesystem::path pathOf(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

std::string cacheFolder() {
  if (std::filesystem::path folder = pathOf("TESSERA_CACHE_DIR"); !folder.empty()) return folder;
  // XDG Base Directory Specification: a variable that is empty counts as not set, a relative path is ignored.
  std::filesystem::path folder = pathOf("XDG_CACHE_HOME");
  if (!folder.is_absolute()) {
    std::filesystem::path home = pathOf("HOME");
    if (!home.is_absolute()) return "";
    folder = home / ".cache";
  }
  return folder / "tessera";
}

} // namespace tessera::runtime
