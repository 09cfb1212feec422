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

/// Tells from the first bytes (inflatedHeaderBytes, or all if there are fewer) how many there are in all; throws an Error if they
/// are no such header.
using SizeFromHeader = std::function<int64_t(std::string_view header)>;
inline constexpr size_t inflatedHeaderBytes = 2048;

/// A file mapped for reading. Where `inflatedSize` is given, gzipped files (by their first two bytes) are inflated into
/// memory instead: exactly the bytes that their header claims, so that no file takes more than it says.
class MappedFile {
public:
  /// Throws an Error if the file is missing, empty, not a regular file, or not whole gzip.
  explicit MappedFile(const std::string &path, const SizeFromHeader &inflatedSize = nullptr);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(MappedFile other) noexcept;

  const std::string &path() const { return name; }
  const unsigned char *data() const { return bytes; }
  size_t size() const { return count; }
  /// Bytes of memory that the file takes beside its mapping.
  int64_t heldBytes() const { return static_cast<int64_t>(inflated.capacity()); }
  std::string_view text() const { return {reinterpret_cast<const char *>(bytes), count}; }

private:
  void inflateWhole(const SizeFromHeader &inflatedSize);

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

/// Throws an Error if a file of a format that is read as it is begins as gzip does.
void refuseGzip(const MappedFile &file, const std::string &format);

/// The files that patterns ("data/train_*.bin") stand for, in order, each
/// pattern's sorted. Throws an Error where one matches nothing.
std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_MAPPEDFILE_H
