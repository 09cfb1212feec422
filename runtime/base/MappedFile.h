//===- MappedFile.h - memory-mapped files ---------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_MAPPEDFILE_H
#define TESSERA_RUNTIME_BASE_MAPPEDFILE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tessera::runtime {

/// Returns the inflated size in bytes from the first `inflatedHeaderBytes` bytes (or fewer, if the file is shorter).
/// Throws an Error if they are not a valid header.
using SizeFromHeader = std::function<int64_t(std::string_view header)>;
inline constexpr size_t inflatedHeaderBytes = 2048;

/// What tells one state of a file from another.
struct FileVersion {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, seconds = 0, nanoseconds = 0; ///< the time of the last change of its content

  static FileVersion of(const struct stat &info);
  bool isSameFile(const FileVersion &other) const { return device == other.device && inode == other.inode; }
  bool operator==(const FileVersion &) const = default;
};

/// A file mapped for reading. If `inflatedSize` is given, gzipped files (recognised by their first two bytes) are
/// inflated into memory instead, exactly to the size that their header claims, so that no file takes more memory than
/// it states. A size that the compressed data cannot have is refused before they are inflated.
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
  const FileVersion &version() const { return opened; }
  /// Throws an Error if the content was changed after the file was opened: what was read since may be zeros, or of two
  /// versions. One call of the system. A file that was replaced or removed is still mapped as it was.
  void checkUnchanged() const;
  /// Bytes of memory of an inflated file.
  int64_t heldBytes() const { return static_cast<int64_t>(inflated.capacity()); }
  std::string_view text() const { return {reinterpret_cast<const char *>(bytes), count}; }

private:
  void inflateWhole(const SizeFromHeader &inflatedSize);

  std::string name;
  const unsigned char *bytes = nullptr;
  size_t count = 0, mapped = 0;
  void *map = nullptr;
  FileVersion opened;
  std::vector<unsigned char> inflated;
};

/// Whether two files have the same content; only files of at most `largest` bytes are compared.
bool haveEqualContent(const std::string &a, const std::string &b, int64_t largest);

/// Runs `read`, which accesses mapped files. If one is truncated meanwhile or cannot be read, throws an Error that
/// names it; outside of this function that ends the process with the message and status 1. The error may leave `read`
/// by longjmp: `read` must not own resources that destructors release.
void withMappedFiles(const std::function<void()> &read);

/// Throws an Error if the file is gzipped, for formats that are read without inflating.
void refuseGzip(const MappedFile &file, const std::string &format);

/// Expands patterns ("data/train_*.bin") in order; the files of one pattern are sorted. Throws an Error if a pattern
/// matches no file.
std::vector<std::string> expandPatterns(const std::vector<std::string> &patterns);

/// "a.csv, b.csv", for a message.
std::string joinedPaths(const std::vector<std::string> &paths);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_MAPPEDFILE_H
