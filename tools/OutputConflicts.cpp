//===- OutputConflicts.cpp - outputs that would overwrite a file in use -----===//

#include "tools/OutputConflicts.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>
#include <optional>

using namespace llvm;
using namespace tessera;

namespace {
/// Identifies a file independently of its path: its inode, or for a new file the inode of its folder and its name.
using Identity = std::pair<sys::fs::UniqueID, std::string>;
} // namespace

static std::optional<Identity> identify(StringRef path) {
  sys::fs::file_status status;
  if (!sys::fs::status(path, status)) {
    if (status.type() != sys::fs::file_type::regular_file) return std::nullopt;
    return Identity(status.getUniqueID(), "");
  }
  StringRef folder = sys::path::parent_path(path);
  if (sys::fs::status(folder.empty() ? "." : folder, status)) return std::nullopt;
  return Identity(status.getUniqueID(), sys::path::filename(path).str());
}

std::string tessera::findOutputConflict(ArrayRef<NamedOutput> outputs, ArrayRef<std::string> inputs) {
  std::map<Identity, std::string> taken; // and what uses it
  for (const std::string &input : inputs)
    if (std::optional<Identity> identity = identify(input)) taken.try_emplace(*identity, "an input of this command");
  for (const NamedOutput &output : outputs) {
    std::optional<Identity> identity = identify(output.path);
    if (!identity) continue;
    auto [other, isNew] = taken.try_emplace(*identity, "what " + output.option + " writes too");
    if (!isNew) return output.option + ": " + output.path + " is " + other->second + "; name another file";
  }
  return "";
}
