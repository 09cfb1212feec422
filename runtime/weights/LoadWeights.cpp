//===- LoadWeights.cpp - reads the weights of a model ---------------------===//
//
//   1. open the files, and the map
//   2. match: the tensors of the layout with those of the files
//   3. choose the parameters to read; refuse what does not correspond
//   4. check type, shape and elements of all tensors that are used
//   5. copy them
//   6. compare tied tensors with what was read
//
// Each rank does this for its part of the parameters. Before 2, after 4 and after 6 the ranks agree that all could.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/PathPattern.h"
#include "runtime/checkpoint/CheckpointDamage.h"
#include "runtime/data/SourceRecord.h"
#include "runtime/ranks/Comparison.h"
#include "runtime/weights/ModelWeights.h"
#include "runtime/weights/WeightFiles.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tessera::runtime {

namespace {
class WeightLoader {
public:
  WeightLoader(const WeightFiles &files, const WeightLayout &layout, const WeightOptions &options)
      : files(files), layout(layout), options(options) {}

  LoadedWeights load(const Manifest &manifest, const StateAddress &address, HostCommunicator &world) {
    onAllRanks(world, "checking weights", [&] {
      match();
      choose(manifest);
      refuseMismatch();
      for (const auto &[tensor, found] : matched)
        if (isUsed(*tensor)) check(*tensor, found);
    });
    onAllRanks(world, "reading weights", [&] {
      clearPadding(manifest, address);
      for (const auto &[tensor, found] : matched)
        if (!tensor->isTied && isUsed(*tensor)) copy(*tensor, found, address);
      for (const auto &[tensor, found] : matched)
        if (tensor->isTied && isUsed(*tensor)) compareTied(*tensor, found, address);
    });
    result.read = chosen.size();
    return std::move(result);
  }

private:
  /// The tensor of the file with that name; files may lack the map's prefix.
  const WeightFiles::Tensor *find(const std::string &name) {
    const WeightFiles::Tensor *found = files.find(name), *bare = nullptr;
    if (!layout.prefix.empty() && name.starts_with(layout.prefix)) bare = files.find(name.substr(layout.prefix.size()));
    if (found && bare)
      fail("{}: has '{}' and '{}', with and without the prefix of the map {}", files.path(), found->tensor->name,
           bare->tensor->name, layout.source);
    return found ? found : bare;
  }

  void match() {
    for (const FileTensor &tensor : layout.tensors) {
      const WeightFiles::Tensor *found = find(tensor.name);
      if (found) {
        matched.push_back({&tensor, *found});
        known.insert(found->tensor->name);
      }
      if (tensor.isTied) continue;
      for (const TensorPart &part : tensor.parts) (found ? present : absent)[part.entry->path].push_back(tensor.name);
    }
  }

  bool isSelected(const StateEntry &entry) const {
    return options.only.empty() || std::any_of(options.only.begin(), options.only.end(),
                                               [&](const std::string &pattern) { return selects(pattern, entry); });
  }

  /// Chooses the parameters to read, and collects what remains.
  void choose(const Manifest &manifest) {
    for (const StateEntry *entry : modelEntries(manifest)) {
      if (!isSelected(*entry)) {
        result.notSelected.push_back(entry->path);
      } else if (!present.count(entry->path)) {
        result.missing.push_back(entry->path);
      } else if (absent.count(entry->path)) {
        fail("{}: has '{}' for '{}', but lacks {}; is the model compiled for as many layers as the file has?",
             files.path(), present[entry->path][0], entry->path, listOfNames(absent[entry->path]));
      } else {
        chosen.insert(entry->path);
      }
    }
    std::set<std::string> used;
    for (const auto &[tensor, found] : matched)
      if (isUsed(*tensor)) used.insert(found.tensor->name);
    for (const auto &[name, tensor] : files.tensors())
      if (!used.count(name) && !isIgnored(name)) result.leftOver.push_back(name);
    checkPatterns(manifest);
  }

  bool isUsed(const FileTensor &tensor) const {
    return std::any_of(tensor.parts.begin(), tensor.parts.end(),
                       [&](const TensorPart &part) { return chosen.count(part.entry->path) != 0; });
  }

  bool isIgnored(const std::string &name) const {
    return !known.count(name) && std::any_of(layout.ignored.begin(), layout.ignored.end(),
                                             [&](const std::string &pattern) { return matchesPath(pattern, name); });
  }

  /// A pattern that selects nothing, or nothing that the file has, is a mistake; so is a missing path.
  void checkPatterns(const Manifest &manifest) const {
    for (const std::string &pattern : options.only) {
      bool isRead = false;
      for (const StateEntry *entry : modelEntries(manifest))
        isRead |= selects(pattern, *entry) && chosen.count(entry->path);
      if (isRead) continue;
      bool isMissing = std::any_of(result.missing.begin(), result.missing.end(),
                                   [&](const std::string &path) { return selects(pattern, *manifest.stateAt(path)); });
      if (isMissing) fail("--only {}: {} has none of these parameters", pattern, files.path());
      refusePattern(pattern, manifest);
    }
  }

  /// Without --only, files and model must correspond. A line of a map without a parameter is a mistake if the file has
  /// its tensors.
  void refuseMismatch() const {
    if (!options.only.empty() || (result.missing.empty() && result.leftOver.empty())) return;
    for (const UnusedLine &line : layout.unused)
      for (const std::string &name : result.leftOver)
        if (isNameOf(line.name, name) || isNameOf(line.name, layout.prefix + name))
          fail("{}: the program has no parameter '{}', and {} has '{}'{}", line.where, line.path, files.path(), name,
               line.nearest.empty() ? "" : fmt::format("; did you mean '{}'?", line.nearest));
    std::vector<std::string> reasons;
    if (!result.missing.empty()) reasons.push_back("it lacks " + listOfNames(missingNames()));
    if (!result.leftOver.empty()) {
      std::string unknown = listOfNames(result.leftOver);
      reasons.push_back(
          fmt::format("{} {}", layout.source.empty() ? "the program has no" : "no line of the map names", unknown));
    }
    std::string help = layout.source.empty() ? "`info` lists the parameters" : "change the map: `ignore` skips tensors";
    if (options.isOffered) help += "; to read a part, give --only PATTERN, with '**' for all that fits";
    if (options.isOffered && layout.source.empty()) help += "; for other names, give a --map";
    fail("{} does not fit the program: {}; {}", files.path(), fmt::join(reasons, "; "), help);
  }

  /// Missing parameters as the file would call them.
  std::vector<std::string> missingNames() const {
    std::vector<std::string> names;
    for (const std::string &path : result.missing) {
      auto tensors = absent.find(path);
      if (tensors == absent.end())
        names.push_back(path); // no line of the map has it
      else
        names.insert(names.end(), tensors->second.begin(), tensors->second.end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  void check(const FileTensor &tensor, const WeightFiles::Tensor &found) const {
    std::string expected =
        tensor.where.empty() ? tensor.expected : fmt::format("{} ({})", tensor.expected, tensor.where);
    checkConvertible(*found.file, *found.tensor, tensor.shape, tensor.axes, tensor.type(), expected);
    int64_t own = 0;
    for (const TensorPart &part : tensor.parts) own += part.elements();
    if (own == tensor.elements()) return checkFinite(*found.file, *found.tensor, tensor.type());
    for (const TensorPart &part : tensor.parts)
      checkFinite(*found.file, *found.tensor, tensor.type(), part.fileOffset, part.axes);
  }

  /// A part that does not fill its memory has zeros behind it.
  void clearPadding(const Manifest &manifest, const StateAddress &address) const {
    for (const std::string &path : chosen) {
      const StateEntry &entry = *manifest.stateAt(path);
      if (!entry.divided.empty()) memset(address(entry), 0, entry.bytes);
    }
  }

  /// The elements of a part in the parameters' type, dense in the order of its axes.
  static std::vector<char> denseElements(const FileTensor &tensor, const TensorPart &part, const SafeTensor &found) {
    int64_t size = bytesOf(*found.type);
    std::vector<char> elements(part.elements() * size);
    copyStrided(toDense(part.axes), size, found.data + part.fileOffset * size, elements.data());
    if (*found.type == tensor.type()) return elements;
    return convertNumbers(elements.data(), part.elements(), *found.type, tensor.type());
  }

  void copy(const FileTensor &tensor, const WeightFiles::Tensor &found, const StateAddress &address) const {
    int64_t size = bytesOf(tensor.type());
    for (const TensorPart &part : tensor.parts) {
      if (!chosen.count(part.entry->path) || part.elements() == 0) continue;
      char *memory = address(*part.entry) + part.memoryOffset * size;
      if (*found.tensor->type == tensor.type())
        copyStrided(part.axes, size, found.tensor->data + part.fileOffset * size, memory);
      else
        copyStrided(fromDense(part.axes), size, denseElements(tensor, part, *found.tensor).data(), memory);
    }
  }

  void compareTied(const FileTensor &tensor, const WeightFiles::Tensor &found, const StateAddress &address) const {
    int64_t size = bytesOf(tensor.type());
    for (const TensorPart &part : tensor.parts) {
      if (!chosen.count(part.entry->path) || part.elements() == 0) continue;
      std::vector<char> theirs = denseElements(tensor, part, *found.tensor), ours(theirs.size());
      copyStrided(toDense(reversed(part.axes)), size, address(*part.entry) + part.memoryOffset * size, ours.data());
      if (ours != theirs)
        fail("{}: '{}' differs from '{}', which {} says that it equals; give the model a parameter of its own for it",
             found.file->path(), found.tensor->name, tensor.parts[0].entry->path, tensor.where);
    }
  }

  const WeightFiles &files;
  const WeightLayout &layout;
  const WeightOptions &options;
  std::vector<std::pair<const FileTensor *, WeightFiles::Tensor>> matched;
  std::set<std::string> known;                                     ///< tensors of the file that a line has
  std::map<std::string, std::vector<std::string>> present, absent; ///< tensors that hold a parameter, by its path
  std::set<std::string> chosen;                                    ///< paths of the parameters to read
  LoadedWeights result;
};
} // namespace

/// The hashes of a checkpoint are verified; what other files contain must be compared.
static void requireSameContents(const std::string &path, const WeightOptions &options, HostCommunicator &world) {
  if (world.size() == 1) return;
  std::vector<ComparedItem> items;
  onAllRanks(world, "the contents of weights", [&] {
    items.push_back({"the weights " + path, thoroughHash({{"", filesOfWeights(path)}})});
    items.push_back({"the map " + options.map, options.map.empty() ? "" : thoroughHash({{"", {options.map}}})});
  });
  requireEqual(world, items, "all ranks must read files with the same contents");
}

LoadedWeights loadWeights(const std::string &path, const WeightOptions &options, const Manifest &manifest,
                          const StateAddress &address, HostCommunicator &world) {
  MeshPlace place(manifest.target.ranks, world);
  ChunkShare share = shareOfCheckpoint(path, world);
  std::optional<WeightLayout> layout;
  std::optional<WeightFiles> files;
  onAllRanks(world, "opening weights", [&] {
    layout = options.map.empty() ? layoutOf(manifest, place) : layoutOf(manifest, readWeightMap(options.map), place);
    files.emplace(path, share);
  });
  requireSameContents(path, options, world);
  return WeightLoader(*files, *layout, options).load(manifest, address, world);
}

} // namespace tessera::runtime
