//===- OutputConflicts.cpp - outputs that cannot be written as they are ----===//

#include "tools/OutputConflicts.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/SystemError.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "runtime/base/DataFormat.h"
#include "runtime/base/FilePattern.h"
#include "runtime/base/OutputPath.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>
#include <optional>

using namespace mlir;
using namespace tessera;
namespace fs = llvm::sys::fs;

//===----------------------------------------------------------------------===//
// Files in use
//===----------------------------------------------------------------------===//

/// Adds the files of the patterns in `splits` of a data source, or of a field with files of its own.
static void addSplits(DictionaryAttr entry, std::vector<UsedFile> &files) {
  auto splits = entry.getAs<DictionaryAttr>(data_keys::splits);
  for (NamedAttribute split : splits ? splits.getValue() : ArrayRef<NamedAttribute>())
    if (auto patterns = dyn_cast<ArrayAttr>(split.getValue()))
      for (Attribute pattern : patterns)
        if (auto text = dyn_cast<StringAttr>(pattern)) // of a dump that was edited, it may be anything
          for (std::string &path : runtime::filesMatching(text.str()))
            files.push_back({std::move(path), "a data file of the model"});
}

std::vector<UsedFile> tessera::dataFiles(ModuleOp module) {
  std::vector<UsedFile> files;
  auto data = module->getAttrOfType<ArrayAttr>(attrs::data);
  AttrTypeWalker walker;
  walker.addWalk([&](DictionaryAttr entry) { addSplits(entry, files); });
  if (data) walker.walk(data);
  return files;
}

std::vector<UsedFile> tessera::filesOfArguments(ArrayRef<std::string> arguments) {
  std::vector<UsedFile> files;
  for (const std::string &argument : arguments)
    for (StringRef path : {StringRef(argument), StringRef(argument).rsplit('=').second})
      if (!path.empty() && fs::is_regular_file(path)) files.push_back({path.str(), "a file that the program is given"});
  return files;
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

namespace {
/// Identifies a file independently of its path: its device and inode, or for a new file those of its folder, and its
/// name.
using Identity = std::pair<fs::UniqueID, std::string>;
} // namespace

/// None for devices, pipes and folders.
static std::optional<Identity> identify(const std::string &path) {
  runtime::OutputPath output = runtime::findOutput(path);
  fs::UniqueID id;
  if (output.kind == runtime::OutputPath::File && !fs::getUniqueID(output.path, id)) return Identity(id, "");
  if (output.kind != runtime::OutputPath::New) return std::nullopt;
  StringRef folder = llvm::sys::path::parent_path(output.path);
  if (fs::getUniqueID(folder.empty() ? "." : folder, id)) return std::nullopt;
  return Identity(id, llvm::sys::path::filename(output.path).str());
}

std::string tessera::findOutputConflict(ArrayRef<NamedOutput> outputs, ArrayRef<UsedFile> used) {
  std::map<Identity, std::string> taken; // and what it is
  for (const UsedFile &file : used)
    if (std::optional<Identity> identity = identify(file.path)) taken.try_emplace(*identity, file.what);
  for (const NamedOutput &output : outputs) {
    std::optional<Identity> identity = output.path == "-" ? Identity(fs::UniqueID(), "-") : identify(output.path);
    if (!identity) continue;
    auto [other, isNew] = taken.try_emplace(*identity, "what " + output.option + " writes too");
    if (!isNew) return output.option + ": " + output.path + " is " + other->second + "; name another file";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Where it lies
//===----------------------------------------------------------------------===//

std::string tessera::findUnwritable(const std::string &path) {
  runtime::OutputPath output = runtime::findOutput(path);
  if (path == "-" || output.kind == runtime::OutputPath::Special) return "";
  std::error_code error;
  if (output.kind == runtime::OutputPath::Folder) error = std::make_error_code(std::errc::is_a_directory);
  StringRef written = output.path;
  if (output.kind == runtime::OutputPath::New) written = llvm::sys::path::parent_path(written);
  if (!error) error = fs::access(written.empty() ? "." : written, fs::AccessMode::Write);
  return error ? "cannot write " + path + ": " + describeSystemError(error) : "";
}
