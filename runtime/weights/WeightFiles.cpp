//===- WeightFiles.cpp - the files that weights come from -----------------===//

#include "runtime/weights/WeightFiles.h"

#include "runtime/checkpoint/Checkpoint.h"

#include <filesystem>
#include <set>

namespace fs = std::filesystem;

namespace tessera::runtime {

static constexpr const char *indexFile = "model.safetensors.index.json";
static constexpr const char *singleFile = modelFile; // checkpoints have Hugging Face's name

/// An index has about a hundred bytes for each tensor.
static constexpr size_t longestIndex = 64 << 20;

bool isFolderOfWeights(const std::string &path) {
  std::error_code error;
  auto has = [&](const char *name) { return fs::exists(path + "/" + name, error); };
  return fs::is_directory(path, error) && !has(manifestFile) && !has(optimizerFile) &&
         (has(indexFile) || has(singleFile));
}

/// The index of the weights at `path`; empty if one file contains them.
static std::string indexOf(const std::string &path) {
  if (path.ends_with(".json")) return path;
  std::string index = path + "/" + indexFile;
  return isFolderOfWeights(path) && fs::exists(index) ? index : "";
}

static std::string shardPath(const std::string &index, const std::string &name) {
  std::string folder = fs::path(index).parent_path().string();
  return (folder.empty() ? "." : folder) + "/" + name;
}

WeightFiles::WeightFiles(const std::string &path, ChunkShare share) : where(path) {
  if (std::string index = indexOf(path); !index.empty())
    openShards(index);
  else if (isFolderOfWeights(path))
    add(SafetensorsFile(path + "/" + singleFile));
  else
    add(fs::is_directory(path) ? openModel(path, share) : SafetensorsFile(path));
}

void WeightFiles::add(SafetensorsFile file) {
  const SafetensorsFile &kept = files.emplace_back(std::move(file));
  for (const SafeTensor &tensor : kept.tensors()) byName.emplace(tensor.name, Tensor{&kept, &tensor});
}

/// A shard is a file beside its index. (The file may be a link, as in the cache of Hugging Face's hub.)
static void checkShardName(const std::string &index, const std::string &name) {
  bool isPlain =
      !name.empty() && name != "." && name != ".." && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
  if (!isPlain) fail("{}: the shard '{}' is not the name of a file in the folder of the index", index, name);
}

/// The shard of each tensor, and the bytes of all tensors if the index says them, else -1.
static std::map<std::string, std::string> readIndex(const std::string &path, int64_t &bytes) {
  MappedFile file(path);
  if (file.size() > longestIndex) fail("{}: {} bytes, an index has at most {}", path, file.size(), longestIndex);
  nlohmann::json json = parseSortedJson(file.text(), path, 0, /*maxDepth=*/8);
  const nlohmann::json &map = member(json, "weight_map", path);
  if (!map.is_object()) fail("{}: expected an object 'weight_map', from tensors to files", path);
  std::map<std::string, std::string> shards;
  for (const auto &[name, shard] : map.items()) {
    std::string where = fmt::format("{}: tensor '{}'", path, name);
    checkShardName(path, shards[name] = asString(shard, where));
  }
  bytes = -1;
  if (auto metadata = json.find("metadata"); metadata != json.end() && metadata->is_object())
    if (auto size = metadata->find("total_size"); size != metadata->end() && size->is_number_integer())
      bytes = asInteger(*size, path + ": total_size");
  return shards;
}

void WeightFiles::openShards(const std::string &index) {
  int64_t promised = 0, found = 0;
  std::map<std::string, std::string> shards = readIndex(index, promised);
  std::set<std::string> names;
  for (const auto &[tensor, shard] : shards) names.insert(shard);
  for (const std::string &name : names) {
    std::string path = shardPath(index, name);
    std::error_code error;
    if (!fs::exists(path, error)) fail("{}: the shard {} is missing", index, path);
    SafetensorsFile file(path);
    for (const SafeTensor &tensor : file.tensors()) {
      auto listed = shards.find(tensor.name);
      if (listed == shards.end()) fail("{}: the tensor '{}' of {} is not listed", index, tensor.name, path);
      if (listed->second != name)
        fail("{}: the tensor '{}' is listed in {}, but {} has it too", index, tensor.name, listed->second, path);
      found += tensor.bytes;
    }
    add(std::move(file));
  }
  for (const auto &[tensor, shard] : shards)
    if (!find(tensor)) fail("{}: {} lacks the tensor '{}'", index, shardPath(index, shard), tensor);
  // Libraries have counted shared tensors twice, or not at all, so this alone does not make weights wrong.
  if (promised >= 0 && promised != found)
    warn("warning: {}: total_size is {}, the shards have {} bytes of elements", index, promised, found);
}

std::vector<std::string> filesOfWeights(const std::string &path) {
  std::string index = indexOf(path);
  if (index.empty()) return {fs::is_directory(path) ? path + "/" + singleFile : path};
  int64_t bytes = 0;
  std::set<std::string> files = {index};
  for (const auto &[tensor, shard] : readIndex(index, bytes)) files.insert(shardPath(index, shard));
  return {files.begin(), files.end()};
}

} // namespace tessera::runtime
