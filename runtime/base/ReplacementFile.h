//===- ReplacementFile.h - a file that appears whole ------------------------===//

#ifndef TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H
#define TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H

#include "runtime/base/DurableFile.h"

namespace tessera::runtime {

/// A file that is written under a temporary name, at any offset, and renamed by commit(). Until then the old file of
/// that name stays; without commit() it remains, and the temporary one is removed, also if a signal ends the process.
/// Unlike a DurableFile it is not hashed. There is one at a time.
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
  /// Calls fsync, closes and renames.
  void commit();

private:
  std::string path, temporary;
  int fd = -1;
  int64_t end = 0; ///< where `append` writes
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_REPLACEMENTFILE_H
