//===- MappedFile.h - memory-mapped files ---------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_MAPPEDFILE_H
#define TESSERA_RUNTIME_BASE_MAPPEDFILE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

/// Returns the inflated size in bytes from the first `inflatedHeaderBytes` bytes (or fewer, if the file is shorter).
/// Throws an Error if they are not a valid header.
using SizeFromHeader = std::function<int64_t(std::string_view header)>;
inline constexpr size_t inflatedHeaderBytes = 2048;

/// A file mapped for reading. If `inflatedSize` is given, gzipped files (recognised by their first two bytes) are
/// inflated into memory instead, exactly to the size that their header claims, so that no file takes more memory than
/// it states.
class MappedFile {
public:
  /// Throws an Error if the file is missing, empty, not a regular file, or truncated gzip.
  explicit MappedFile(const std::string &path, const SizeFromHeader &inflatedSize = nullptr);
  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(MappedFile other) noexcept;

  const std::string &path() const { return name; }
  const unsigned char *data() const { return bytes; }
  size_t size() const { return count; }
  /// Bytes of memory of an inflated file.
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

/// Runs `read`, which accesses mapped files. If one is truncated meanwhile or cannot be read, throws an Error that
/// names it; outside of this function that ends the process with the message and status 1. The error may leave `read`
/// by longjmp: `read` must not own resources that destructors release.
void withMappedFiles(const std::function<void()> &read);

/// Throws an Error if the file is gzipped, for formats that are read without inflating.
void refuseGzip(const MappedFile &file, const std::string &format);

/// Expands patterns ("data/train_*.bin") in order; the files of one pattern are sorted. Throws an Error if a pattern
/// matches no file.
std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_MAPPEDFILE_H
