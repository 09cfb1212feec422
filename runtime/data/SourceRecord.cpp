//===- SourceRecord.cpp - what a checkpoint says of a data source ---------===//

#include "runtime/data/SourceRecord.h"

#include "runtime/base/DurableFile.h"
#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tessera::runtime {

//===----------------------------------------------------------------------===//
// Content
//===----------------------------------------------------------------------===//

namespace {
struct SizedFile {
  std::string path;
  int64_t bytes;
};
} // namespace

static std::vector<SizedFile> filesOf(const SplitPaths &paths) {
  std::vector<SizedFile> files;
  for (const auto &[field, patterns] : paths)
    for (std::string &path : expandPatterns(patterns)) {
      std::error_code error;
      auto bytes = static_cast<int64_t>(std::filesystem::file_size(path, error));
      if (error) fail("cannot read {}: {}", path, error.message());
      files.push_back({std::move(path), bytes});
    }
  return files;
}

static int64_t blocksOf(const SizedFile &file, int64_t blockBytes) {
  return (file.bytes + blockBytes - 1) / blockBytes;
}

/// Appends the size of a file and the hashes of up to `count` of its blocks, which are spread evenly.
static void addBlocks(const SizedFile &from, int64_t count, int64_t blockBytes, std::vector<uint64_t> &hashes) {
  hashes.push_back(static_cast<uint64_t>(from.bytes));
  count = std::min(count, blocksOf(from, blockBytes));
  errno = 0;
  std::ifstream file(from.path, std::ios::binary);
  if (!file) failSystem("read", from.path);
  std::vector<char> block(static_cast<size_t>(std::min(blockBytes, from.bytes)));
  for (int64_t i = 0; i < count; ++i) {
    int64_t lastOffset = std::max<int64_t>(0, from.bytes - blockBytes);
    int64_t offset = count > 1 ? static_cast<int64_t>(static_cast<__int128>(lastOffset) * i / (count - 1)) : 0;
    int64_t bytes = std::min(blockBytes, from.bytes - offset);
    file.seekg(offset);
    file.read(block.data(), bytes);
    if (file.eof()) fail("{}: the file was truncated while it was read", from.path);
    if (!file) failSystem("read", from.path);
    hashes.push_back(hashXxh64(block.data(), static_cast<size_t>(bytes)));
  }
}

static std::string hashOfHashes(const std::vector<uint64_t> &hashes) {
  return fmt::format("{:016x}", hashXxh64(hashes.data(), hashes.size() * sizeof(uint64_t)));
}

std::string contentHash(const SplitPaths &paths) {
  static constexpr int64_t mostOfFile = 64, most = 16'384, blockBytes = 4096;
  std::vector<SizedFile> files = filesOf(paths);
  int64_t count = std::clamp<int64_t>(most / std::max<int64_t>(1, std::ssize(files)), 1, mostOfFile);
  std::vector<uint64_t> hashes;
  for (const SizedFile &file : files) addBlocks(file, count, blockBytes, hashes);
  return hashOfHashes(hashes);
}

std::string thoroughHash(const SplitPaths &paths) {
  static constexpr int64_t most = int64_t(1) << 30, largestBlock = 1 << 20, smallestBlock = 4096;
  std::vector<SizedFile> files = filesOf(paths);
  int64_t all = 0;
  for (const SizedFile &file : files) all += file.bytes;
  // With very many files smaller blocks are read, so that one of each does not exceed the limit.
  int64_t blockBytes =
      all <= most ? largestBlock : std::clamp<int64_t>(most / std::ssize(files), smallestBlock, largestBlock);
  std::vector<uint64_t> hashes;
  for (const SizedFile &file : files) {
    int64_t own = blocksOf(file, blockBytes);
    auto share =
        static_cast<int64_t>(static_cast<__int128>(most) / blockBytes * file.bytes / std::max<int64_t>(1, all));
    addBlocks(file, all <= most ? own : std::max<int64_t>(1, share), blockBytes, hashes);
  }
  return hashOfHashes(hashes);
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
    source["content"] = contentHash(files.paths(name, Split::Train));
    if (Json columns = namesOfColumns(training, i); !columns.is_null()) source["columns"] = std::move(columns);
  }
  return sources;
}

} // namespace tessera::runtime
