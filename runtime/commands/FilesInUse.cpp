//===- FilesInUse.cpp - the files that no output may replace --------------===//

#include "runtime/commands/FilesInUse.h"

#include "runtime/base/OutputPath.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/weights/WeightFiles.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace tessera::runtime {

FilesInUse::FilesInUse(const LoadedProgram &program) {
  if (!program.path().empty()) add(program.path(), "the program itself");
}

void FilesInUse::addData(const DataFiles &data) {
  for (const std::string &path : data.allPaths()) add(path, "a data file of the program");
}

void FilesInUse::addWeights(const std::string &path) {
  std::vector<std::string> parts = {path};
  try {
    parts = filesOfWeights(path);
  } catch (const std::exception &) { // the index is missing or malformed: reading the weights says so, if they are read
  }
  for (const std::string &file : parts) add(file, fmt::format("a file of the weights {}", path));
}

/// Whether two paths name one file, which need not exist yet.
static bool isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  if (fs::exists(a, error) || fs::exists(b, error)) return false;
  fs::path first = fs::weakly_canonical(fs::absolute(a), error), second = fs::weakly_canonical(fs::absolute(b), error);
  return !first.empty() && first == second;
}

void FilesInUse::check(const std::string &option, const std::string &path) const {
  OutputPath output = findOutput(path);
  if (!output.canBeReplaced()) return;
  for (const File &file : files)
    if (isSameFile(output.path, findOutput(file.path).path))
      fail("{} {}: this is {}; name another file", option, path, file.what);
  if (isFileOfCheckpoint(output.path)) fail("{} {}: this is part of a checkpoint; name another file", option, path);
}

void FilesInUse::addOutput(const std::string &option, const std::string &path) {
  check(option, path);
  add(path, fmt::format("what {} writes too", option));
}

} // namespace tessera::runtime
