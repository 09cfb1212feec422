//===- MappedFile.h - a file as bytes -----------------------------------------===//

#ifndef TESSERA_RUNTIME_DATA_MAPPEDFILE_H
#define TESSERA_RUNTIME_DATA_MAPPEDFILE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

/// A file mapped for reading. Gzipped files (by their first two bytes) are inflated into memory instead.
class MappedFile {
public:
  /// Throws an Error if the file is missing, empty, not a regular file, or not whole gzip.
  explicit MappedFile(const std::string &path, bool inflate = false);
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return name; }
  const unsigned char *data() const { return bytes; }
  size_t size() const { return count; }
  /// Bytes of memory that the file takes beside its mapping.
  int64_t heldBytes() const { return static_cast<int64_t>(inflated.capacity()); }
  std::string_view text() const { return {reinterpret_cast<const char *>(bytes), count}; }

private:
  void inflateWhole();

  std::string name;
  const unsigned char *bytes = nullptr;
  size_t count = 0, mapped = 0;
  void *map = nullptr;
  std::vector<unsigned char> inflated;
};

/// Runs `read`, which uses mapped files. One that is cut short meanwhile, or that its disk will not give, is an Error
/// that names it; anywhere else it ends the process with that message and status 1. The error may leave `read` by a
/// jump: it must hold nothing that a destructor gives back.
void withMappedFiles(const std::function<void()> &read);

/// The files that patterns ("data/train_*.bin") stand for, in order, each
/// pattern's sorted. Throws an Error where one matches nothing.
std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_MAPPEDFILE_H
