//===- FilesInUse.h - the files that no output may replace ----------------===//
//
// The one place that decides whether a command may write the file that an option names.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDS_FILESINUSE_H
#define TESSERA_RUNTIME_COMMANDS_FILESINUSE_H

#include "runtime/data/DataSource.h"
#include "runtime/machine/LoadedProgram.h"

namespace tessera::runtime {

/// What a command reads, its program, and its other outputs. Files are compared by what they are, not by their paths.
class FilesInUse {
public:
  explicit FilesInUse(const LoadedProgram &program);

  /// `what` completes "this is".
  void add(const std::string &path, std::string what) { files.push_back({path, std::move(what)}); }
  void addData(const DataFiles &data);
  /// The files of the weights at `path`, with that of their index.
  void addWeights(const std::string &path);

  /// Throws an Error if writing to `path`, which `option` names, would replace one of them, or a file of any
  /// checkpoint. Devices and pipes are never replaced.
  void check(const std::string &option, const std::string &path) const;
  /// The same; from now on no other output may be this file.
  void addOutput(const std::string &option, const std::string &path);

private:
  struct File {
    std::string path, what;
  };
  std::vector<File> files;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDS_FILESINUSE_H
