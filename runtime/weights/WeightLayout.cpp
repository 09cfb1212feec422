//===- WeightLayout.cpp - the tensors of a weight file --------------------===//

#include "runtime/weights/WeightLayout.h"

#include "runtime/base/NearestWord.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <cctype>

namespace tessera::runtime {

/// Tensors of one program. A map has one for each index of its placeholders.
static constexpr size_t mostTensors = 1'000'000;

int64_t FileTensor::elements() const {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::vector<const StateEntry *> modelEntries(const Manifest &manifest) {
  std::vector<const StateEntry *> entries;
  for (const StateEntry &entry : manifest.state)
    if (entry.isModel()) entries.push_back(&entry);
  return entries;
}

bool isNameOf(const std::vector<NamePart> &parts, std::string_view name) {
  for (const NamePart &part : parts) {
    if (part.isPlaceholder) {
      size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0) return false;
      name.remove_prefix(digits);
    } else {
      if (!name.starts_with(part.text)) return false;
      name.remove_prefix(part.text.size());
    }
  }
  return name.empty();
}

WeightLayout layoutOf(const Manifest &manifest, const MeshPlace &place) {
  WeightLayout layout;
  for (const StateEntry *entry : modelEntries(manifest)) {
    FileTensor tensor;
    tensor.name = entry->path;
    tensor.axes = axisNotation(entry->canonical);
    tensor.expected = formatAxes(entry->wholeAxes());
    TensorPart part{entry, 0, 0, {}};
    std::vector<PartAxis> axes = partAxes(*entry, place);
    int64_t stride = 1;
    for (size_t i = axes.size(); i-- > 0; stride *= axes[i].whole) {
      part.fileOffset += axes[i].begin * stride;
      part.axes.insert(part.axes.begin(), {axes[i].count, stride, axes[i].stride});
    }
    for (const PartAxis &axis : axes) tensor.shape.push_back(axis.whole);
    tensor.parts.push_back(std::move(part));
    layout.tensors.push_back(std::move(tensor));
  }
  return layout;
}

namespace {
/// The tensors of one line of a map.
class LineLayout {
public:
  LineLayout(const MapLine &line, std::vector<const StateEntry *> entries, const MeshPlace &place)
      : line(line), entries(std::move(entries)), place(place) {
    for (const AxisSpec &axis : this->entries[0]->wholeAxes()) sizes[axis.name] = axis.size;
    for (const StateEntry *entry : this->entries) checkAxes(*entry);
    placeStrides();
  }

  void addTo(std::vector<FileTensor> &tensors) const {
    std::vector<int64_t> indices;
    std::vector<std::string> placeholders;
    for (const NamePart &part : line.parts)
      if (part.isPlaceholder) placeholders.push_back(part.text);
    indices.resize(placeholders.size(), 0);
    for (bool isDone = false; !isDone;) {
      if (tensors.size() >= mostTensors) fail("{}: the map has more than {} tensors", line.where, mostTensors);
      tensors.push_back(tensorAt(placeholders, indices));
      isDone = true; // unless an index can be increased
      for (size_t i = indices.size(); i-- > 0 && isDone;) {
        isDone = ++indices[i] == sizes.at(placeholders[i]);
        if (isDone) indices[i] = 0;
      }
    }
  }

private:
  /// The line names each axis of the parameter once.
  void checkAxes(const StateEntry &entry) const {
    std::vector<std::string> named;
    for (const NamePart &part : line.parts)
      if (part.isPlaceholder) named.push_back(part.text);
    for (const std::vector<AxisFactor> &axis : line.axes)
      for (const AxisFactor &factor : axis)
        if (!factor.name.empty()) named.push_back(factor.name);
    std::string has = formatAxes(entry.wholeAxes());
    for (const std::string &name : named)
      if (std::find(entry.canonical.begin(), entry.canonical.end(), name) == entry.canonical.end())
        fail("{}: '{}' has no axis `{}`; it is {}", line.where, entry.path, name, has);
    for (const std::string &name : entry.canonical)
      if (std::find(named.begin(), named.end(), name) == named.end())
        fail(
            "{}: '{}' is {}, and the line names no axis `{}`; add it to the brackets, or as {{{}}} to the name if each "
            "index has a tensor of its own",
            line.where, entry.path, has, name, name);
    bool isEqual = entry.type == entries[0]->type; // scalars have no axes
    for (const AxisSpec &axis : entry.wholeAxes()) isEqual &= axis.size == sizes.at(axis.name);
    if (!isEqual)
      fail("{}: '{}' and '{}' share a tensor, so they need equal sizes and types; they are {} {} and {} {}", line.where,
           entries[0]->path, entry.path, formatAxes(entries[0]->wholeAxes()), elementTypeName(entries[0]->type), has,
           elementTypeName(entry.type));
  }

  /// The tensor is row-major: the last factor of the last axis has stride 1.
  void placeStrides() {
    int64_t stride = 1;
    for (size_t i = line.axes.size(); i-- > 0;) {
      int64_t size = 1;
      for (size_t j = line.axes[i].size(); j-- > 0;) {
        const AxisFactor &factor = line.axes[i][j];
        int64_t count = factor.name.empty() ? factor.number : sizes.at(factor.name);
        if (!factor.name.empty())
          strides[factor.name] = stride;
        else if (factor.number > 1)
          numberStride = stride;
        stride *= count;
        size *= count;
      }
      shape.insert(shape.begin(), size);
    }
  }

  /// "[embed: 64, (3, head: 4, hd: 16)]".
  std::string expectation() const {
    std::string text = line.notation, result;
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
      if (end == at) {
        result += text[at++];
        continue;
      }
      std::string word = text.substr(at, end - at);
      auto size = sizes.find(word);
      result += size == sizes.end() ? word : fmt::format("{}: {}", word, size->second);
      at = end;
    }
    return result;
  }

  FileTensor tensorAt(const std::vector<std::string> &placeholders, const std::vector<int64_t> &indices) const {
    FileTensor tensor;
    tensor.shape = shape;
    tensor.axes = line.notation;
    tensor.expected = expectation();
    tensor.where = line.where;
    tensor.isTied = line.isTied;
    size_t next = 0;
    for (const NamePart &part : line.parts)
      tensor.name += part.isPlaceholder ? std::to_string(indices[next++]) : part.text;
    for (size_t i = 0; i < entries.size(); ++i) {
      TensorPart part{entries[i], static_cast<int64_t>(i) * numberStride, 0, {}};
      std::vector<PartAxis> axes = partAxes(*entries[i], place);
      for (size_t axis = 0; axis < axes.size(); ++axis) {
        const std::string &name = entries[i]->canonical[axis];
        auto fixed = std::find(placeholders.begin(), placeholders.end(), name);
        if (fixed != placeholders.end())
          fixAxis(part, axes[axis], indices[fixed - placeholders.begin()]);
        else
          addAxis(part, axes[axis], strides.at(name));
      }
      tensor.parts.push_back(std::move(part));
    }
    return tensor;
  }

  /// The tensor has one index of the axis, maybe of another rank's part.
  static void fixAxis(TensorPart &part, const PartAxis &axis, int64_t index) {
    bool isOwn = index >= axis.begin && index < axis.begin + axis.count;
    if (isOwn)
      part.memoryOffset += (index - axis.begin) * axis.stride;
    else
      part.axes.push_back({});
  }

  static void addAxis(TensorPart &part, const PartAxis &axis, int64_t inFile) {
    part.fileOffset += axis.begin * inFile;
    part.axes.push_back({axis.count, inFile, axis.stride});
  }

  const MapLine &line;
  std::vector<const StateEntry *> entries; ///< one for each path of the line
  const MeshPlace &place;
  std::map<std::string, int64_t> sizes;
  std::map<std::string, int64_t> strides; ///< in the file, of the named factors
  int64_t numberStride = 0;
  std::vector<int64_t> shape;
};
} // namespace

static const StateEntry *modelEntry(const Manifest &manifest, const std::string &path) {
  const StateEntry *entry = manifest.stateAt(path);
  return entry && entry->isModel() ? entry : nullptr;
}

static std::string nearestPath(const Manifest &manifest, const std::string &path) {
  std::vector<std::string> paths;
  for (const StateEntry *entry : modelEntries(manifest)) paths.push_back(entry->path);
  return nearestWord(path, paths);
}

std::string pathAdvice(const Manifest &manifest, const std::string &path) {
  std::string nearest = nearestPath(manifest, path);
  return nearest.empty() ? "; `info` lists them" : fmt::format("; did you mean '{}'?", nearest);
}

/// The parameters of a line; none if the program has none of them.
static std::vector<const StateEntry *> entriesOf(const Manifest &manifest, const MapLine &line) {
  std::vector<const StateEntry *> entries;
  for (const std::string &path : line.paths)
    if (const StateEntry *entry = modelEntry(manifest, path)) entries.push_back(entry);
  if (entries.empty() || entries.size() == line.paths.size()) return entries;
  for (const std::string &path : line.paths)
    if (!modelEntry(manifest, path))
      fail("{}: the program has no parameter '{}'{}", line.where, path, pathAdvice(manifest, path));
  return entries;
}

WeightLayout layoutOf(const Manifest &manifest, const WeightMap &map, const MeshPlace &place) {
  WeightLayout layout;
  layout.prefix = map.prefix;
  layout.ignored = map.ignored;
  layout.source = map.source;
  std::map<std::string, std::string> lineOf; // by path of the parameter
  for (const MapLine &line : map.lines) {
    std::vector<const StateEntry *> entries = entriesOf(manifest, line);
    if (entries.empty()) {
      layout.unused.push_back({line.where, line.paths[0], nearestPath(manifest, line.paths[0]), line.parts});
      continue;
    }
    for (const StateEntry *entry : entries) {
      if (line.isTied) continue;
      if (auto [other, isNew] = lineOf.emplace(entry->path, line.where); !isNew)
        fail("{}: '{}' is also in the line {}; write `tied` before the one that is a copy", line.where, entry->path,
             other->second);
    }
    LineLayout(line, std::move(entries), place).addTo(layout.tensors);
  }
  std::map<std::string, std::string> whereOf; // by name of the tensor
  for (const FileTensor &tensor : layout.tensors)
    if (auto [other, isNew] = whereOf.emplace(tensor.name, tensor.where); !isNew)
      fail("{}: the tensor '{}' is also in the line {}", tensor.where, tensor.name, other->second);
  return layout;
}

} // namespace tessera::runtime
