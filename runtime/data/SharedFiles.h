//===- SharedFiles.h - what several readers hold, held once -------------------===//

#ifndef TESSERA_RUNTIME_DATA_SHAREDFILES_H
#define TESSERA_RUNTIME_DATA_SHAREDFILES_H

#include <fmt/format.h>

#include <map>
#include <memory>
#include <sys/stat.h>

namespace tessera::runtime {

/// What was made of files while somebody holds it: the training and the validation part of one source read the same. Not
/// for several threads.
template <typename Content> class SharedFiles {
public:
  /// What `make` gives for a key, made anew only if nobody holds it.
  template <typename Make> std::shared_ptr<const Content> get(const std::string &key, Make make) {
    std::shared_ptr<const Content> content = known[key].lock();
    if (!content) known[key] = content = std::make_shared<const Content>(make());
    return content;
  }

private:
  std::map<std::string, std::weak_ptr<const Content>> known;
};

/// A path and which state of the file it names.
inline std::string fileKey(const std::string &path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return path;
  return fmt::format("{}\n{} {} {} {}.{}\n", path, info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_SHAREDFILES_H
