//===- SaveWeights.cpp - writes the weights of a model --------------------===//

#include "runtime/weights/ModelWeights.h"

#include <algorithm>
#include <set>

namespace tessera::runtime {

static std::set<std::string> selectedPaths(const WeightOptions &options, const Manifest &manifest) {
  std::set<std::string> paths;
  std::vector<std::string> patterns = options.only.empty() ? std::vector<std::string>{"**"} : options.only;
  for (const std::string &pattern : patterns) {
    bool isUsed = false;
    for (const StateEntry *entry : modelEntries(manifest))
      if (selects(pattern, *entry)) paths.insert(entry->path), isUsed = true;
    if (!isUsed && !options.only.empty()) refusePattern(pattern, manifest);
  }
  return paths;
}

/// Gathers the parameters of a tensor in the order of the file.
static void appendTensor(DurableFile &file, const FileTensor &tensor, const StateAddress &address) {
  int64_t size = bytesOf(tensor.type());
  std::vector<char> elements(tensor.elements() * size);
  for (const TensorPart &part : tensor.parts)
    copyStrided(reversed(part.axes), size, address(*part.entry) + part.memoryOffset * size,
                elements.data() + part.fileOffset * size);
  file.append(elements.data(), elements.size());
}

/// The tensors of a map whose parameters are all selected. The map must have every selected parameter.
static std::vector<SafeTensorOutput> mappedOutputs(const WeightLayout &layout, const std::set<std::string> &selected,
                                                   const StateAddress &address) {
  std::vector<SafeTensorOutput> outputs;
  std::set<std::string> written;
  for (const FileTensor &tensor : layout.tensors) {
    if (tensor.isTied) continue;
    auto isSelected = [&](const TensorPart &part) { return selected.count(part.entry->path) != 0; };
    size_t count = std::count_if(tensor.parts.begin(), tensor.parts.end(), isSelected);
    if (count == 0) continue;
    if (count < tensor.parts.size())
      fail("{}: '{}' contains {} parameters, of which --only selects {}; select all or none", tensor.where, tensor.name,
           tensor.parts.size(), count);
    for (const TensorPart &part : tensor.parts) written.insert(part.entry->path);
    outputs.push_back({tensor.name, tensor.type(), tensor.shape, tensor.axes,
                       tensor.elements() * bytesOf(tensor.type()),
                       [&tensor, &address](DurableFile &file) { appendTensor(file, tensor, address); }});
  }
  std::vector<std::string> without;
  std::set_difference(selected.begin(), selected.end(), written.begin(), written.end(), std::back_inserter(without));
  if (!without.empty())
    fail("no line of the map {} has {}; add it, or leave it out with --only PATTERN", layout.source,
         listOfNames(without));
  return outputs;
}

size_t saveWeights(DurableFile &file, const WeightOptions &options, const Manifest &manifest,
                   const StateAddress &address) {
  std::set<std::string> selected = selectedPaths(options, manifest);
  if (!options.map.empty()) {
    WeightLayout layout = layoutOf(manifest, readWeightMap(options.map), MeshPlace());
    std::vector<SafeTensorOutput> outputs = mappedOutputs(layout, selected, address);
    writeSafetensors(file, outputs);
    return outputs.size();
  }
  std::vector<const StateEntry *> entries;
  for (const StateEntry *entry : modelEntries(manifest))
    if (selected.count(entry->path)) entries.push_back(entry);
  writeSafetensors(file, entries, address, MeshPlace());
  return entries.size();
}

} // namespace tessera::runtime
