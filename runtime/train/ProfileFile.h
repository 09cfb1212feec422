//===- ProfileFile.h - where the profile goes ---------------------------------===//

#ifndef TESSERA_RUNTIME_TRAIN_PROFILEFILE_H
#define TESSERA_RUNTIME_TRAIN_PROFILEFILE_H

#include "runtime/base/OutputPath.h"

namespace tessera::runtime {

/// The file of --profile: looked for before training, written behind it.
class ProfileFile {
public:
  ProfileFile() = default;
  ~ProfileFile();
  ProfileFile(const ProfileFile &) = delete;

  /// Follows links. A device or a pipe is opened, and written later; what cannot be written is an Error.
  void open(const std::string &path);
  /// Warns, and returns false, if it cannot be written after all.
  bool write(const std::string &text);

private:
  OutputPath output;
  int special = -1; ///< a device or a pipe, open
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRAIN_PROFILEFILE_H
