//===- ProfileFile.h - the file of --profile ------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PROFILEFILE_H
#define TESSERA_RUNTIME_TRAIN_PROFILEFILE_H

#include "runtime/base/OutputPath.h"

namespace tessera::runtime {

/// The file of --profile: checked before training, written after it.
class ProfileFile {
public:
  ProfileFile() = default;
  ~ProfileFile();
  ProfileFile(const ProfileFile &) = delete;

  /// Follows links. Opens a device or a pipe, to be written later. Throws an Error if it cannot be written.
  void open(const std::string &path);
  /// Returns false, after a warning, if it cannot be written.
  bool write(const std::string &text);

private:
  OutputPath output;
  int special = -1; ///< a device or a pipe, open
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PROFILEFILE_H
