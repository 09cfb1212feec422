//===- SourceRecord.cpp - what a checkpoint says of a data source ---------===//

#include "runtime/data/SourceRecord.h"

#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"

#include <algorithm>
#include <fstream>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

/// Appends the hashes of up to `blocks` blocks of a file. False if it cannot be read.
static bool addBlocks(const std::string &path, int64_t blocks, std::vector<uint64_t> &hashes) {
  static constexpr int64_t blockBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  int64_t size = file ? static_cast<int64_t>(file.tellg()) : -1;
  if (size < 0) return false;
  hashes.push_back(static_cast<uint64_t>(size));
  int64_t count = std::min(blocks, (size + blockBytes - 1) / blockBytes);
  std::vector<char> block(blockBytes);
  for (int64_t i = 0; i < count; ++i) {
    int64_t lastOffset = std::max<int64_t>(0, size - blockBytes);
    int64_t offset = count > 1 ? static_cast<int64_t>(static_cast<__int128>(lastOffset) * i / (count - 1)) : 0;
    int64_t bytes = std::min(blockBytes, size - offset);
    file.seekg(offset);
    if (!file.read(block.data(), bytes)) return false;
    hashes.push_back(hashXxh64(block.data(), static_cast<size_t>(bytes)));
  }
  return true;
}

std::string contentHash(const SplitPaths &paths) {
  static constexpr int64_t mostOfFile = 64, most = 16'384;
  std::vector<std::string> files;
  for (const auto &[field, patterns] : paths)
    for (std::string &path : expandPatterns(patterns)) files.push_back(std::move(path));
  int64_t blocks = std::clamp<int64_t>(most / std::max<int64_t>(1, static_cast<int64_t>(files.size())), 1, mostOfFile);
  std::vector<uint64_t> hashes;
  for (const std::string &path : files)
    if (!addBlocks(path, blocks, hashes)) return "";
  return fmt::format("{:016x}", hashXxh64(hashes.data(), hashes.size() * sizeof(uint64_t)));
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// The names in the header that each field takes; null if there is no header, or if they are very many.
static Json namesOfColumns(const DataSet &set, size_t source) {
  static constexpr size_t most = 4096;
  std::vector<FileColumns> files;
  set.readers[source]->addColumns(files);
  auto file = std::find_if(files.begin(), files.end(), [](const FileColumns &one) { return !one.header.empty(); });
  if (file == files.end()) return nullptr;
  Json columns = Json::object();
  size_t count = 0;
  for (const BatchInput &input : set.inputs) {
    if (input.source != source) continue;
    Json names = Json::array();
    for (size_t column : file->taken[input.request]) names.push_back(asWritten(file->header[column]));
    count += names.size();
    columns[input.value->field] = std::move(names);
  }
  return count <= most ? columns : Json();
}

FileColumns recordedColumns(const Json &record, const DataSet &set, size_t source, const std::string &path) {
  FileColumns file{path, {}, {}};
  const Json columns = record.is_object() ? record.value("columns", Json()) : Json();
  for (const BatchInput &input : set.inputs) {
    if (input.source != source) continue;
    file.taken.resize(std::max(file.taken.size(), input.request + 1));
    const Json names = columns.is_object() ? columns.value(input.value->field, Json()) : Json();
    if (!names.is_array()) continue;
    for (const Json &name : names) {
      if (!name.is_string()) continue;
      file.taken[input.request].push_back(file.header.size());
      file.header.push_back(name.get<std::string>());
    }
  }
  return file;
}

Json recordSources(const Manifest &manifest, const DataFiles &files, const DataSet &training) {
  Json sources = Json::object();
  for (size_t i = 0; i < training.names.size(); ++i) {
    const std::string &name = training.names[i];
    const DataSpec &spec = *manifest.dataNamed(name);
    Json &source = sources[name];
    source = {{"rows", training.readers[i]->rows()}, {"bytes", files.trainingSizes(name)}};
    if (spec.seq > 0) source["seq"] = spec.seq;
    if (std::string heldOut = files.describeHeldOut(spec); !heldOut.empty()) source["validation"] = heldOut;
    if (std::string hash = contentHash(files.paths(name, Split::Train)); !hash.empty()) source["content"] = hash;
    if (Json columns = namesOfColumns(training, i); !columns.is_null()) source["columns"] = std::move(columns);
  }
  return sources;
}

} // namespace tessera::runtime
