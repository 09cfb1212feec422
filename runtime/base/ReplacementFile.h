//===- ReplacementFile.h - a file that appears whole ------------------------===//
//
// A new version of a file is written under a temporary name beside it, PATH.tmp-PROCESS (without the end of PATH if
// that is too long), then synced, closed and renamed, and the folder is synced. Until then the old file stays. Without
// the last step it remains, and the temporary one is removed, also if a signal ends the process.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H
#define TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H

#include "runtime/base/DurableFile.h"

namespace tessera::runtime {

/// The temporary name of the file `path`. Signals remove the files of four such names at a time.
class TemporaryName {
public:
  explicit TemporaryName(const std::string &path);
  /// Removes the file unless it was renamed.
  ~TemporaryName();
  TemporaryName(const TemporaryName &) = delete;

  /// Creates the file, with the mode of the one that is at `path`, and returns its descriptor. Throws an Error that
  /// names `path` if that is not possible.
  int create() const;
  /// Renames the file, which must be synced and closed, to `path`; the new name is durable then.
  void commit();

  /// Removes the files that have such a name now. For signal handlers that end the process.
  static void removeAll();

private:
  struct Slot;
  void release();

  std::string path, temporary; ///< `temporary` is empty after the rename
  Slot *slot;                  ///< where signal handlers find it; null: there was none left
};

/// A file that is written at any offset. Unlike a DurableFile it is not hashed.
class ReplacementFile {
public:
  /// Creates the temporary file. Throws an Error that names `path` if that is not possible.
  explicit ReplacementFile(const std::string &path);
  ~ReplacementFile();
  ReplacementFile(const ReplacementFile &) = delete;

  void writeAt(int64_t offset, std::string_view bytes);
  void append(std::string_view bytes) {
    writeAt(end, bytes);
    end += static_cast<int64_t>(bytes.size());
  }
  /// From here on the new file has the name.
  void commit();

private:
  std::string path;
  TemporaryName temporary;
  int fd = -1;
  int64_t end = 0; ///< where `append` writes
};

/// Replaces the file at `path`: `write` fills and commits the new one.
void replaceFile(const std::string &path, const std::function<void(DurableFile &)> &write);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H
