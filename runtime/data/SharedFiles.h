//===- SharedFiles.h - files that several readers share -------------------===//

#ifndef TESSERA_RUNTIME_DATA_SHAREDFILES_H
#define TESSERA_RUNTIME_DATA_SHAREDFILES_H

#include <fmt/format.h>

#include <map>
#include <memory>
#include <sys/stat.h>

namespace tessera::runtime {

/// Parsed contents of files, as long as they are in use: the training and the validation part of a source read the
/// same ones. Not thread-safe.
template <typename Content> class SharedFiles {
public:
  /// The content for a key; calls `make` if no one holds it.
  template <typename Make> std::shared_ptr<const Content> get(const std::string &key, Make make) {
    std::shared_ptr<const Content> content = known[key].lock();
    if (!content) known[key] = content = std::make_shared<const Content>(make());
    return content;
  }

private:
  std::map<std::string, std::weak_ptr<const Content>> known;
};

/// A path together with the version of the file (size, time).
inline std::string fileKey(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return path;
  return fmt::format("{}\n{} {} {} {}.{}\n", path, info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_SHAREDFILES_H
