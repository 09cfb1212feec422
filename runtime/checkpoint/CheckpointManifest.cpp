//===- CheckpointManifest.cpp - manifest.json of a checkpoint -------------===//

#include "runtime/checkpoint/CheckpointManifest.h"

#include "runtime/base/Hash.h"

#include <sys/stat.h>

namespace tessera::runtime {

static constexpr int formatVersion = 1;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Closes the manifest with a hash of all bytes before that hash.
static std::string sealManifest(const Json &manifest) {
  std::string text = dumpJson(manifest, 1);
  text.resize(text.size() - 2); // "\n}"
  return text + fmt::format(",\n \"hash\": \"{:016x}\"\n}}\n", hashXxh64(text.data(), text.size()));
}

static constexpr size_t sealBytes = sizeof(",\n \"hash\": \"0123456789abcdef\"\n}\n") - 1;

static Json recordOf(const FileRecord &file) {
  Json hashes = Json::array();
  for (uint64_t hash : file.hashes) hashes.push_back(fmt::format("{:016x}", hash));
  return {{"name", file.name}, {"bytes", file.bytes}, {"chunk_hashes", hashes}};
}

/// What is saved: each state as files have it.
static Json describeState(const Manifest &manifest) {
  Json state = Json::array();
  for (const StateEntry &entry : manifest.state) {
    Json shape = Json::array();
    for (const AxisSpec &axis : entry.wholeAxes()) shape.push_back({axis.name, axis.size});
    state.push_back(
        {{"path", entry.path}, {"kind", entry.kind}, {"type", elementTypeName(entry.type)}, {"axes", shape}});
  }
  return state;
}

std::string manifestText(const CheckpointInfo &info, const Manifest &manifest, const std::vector<FileRecord> &files) {
  Json json = {{"format", formatVersion},     {"model", info.model},       {"compiler", manifest.compiler},
               {"step", info.step},           {"position", info.position}, {"seed", info.seed},
               {"evaluated", info.evaluated}, {"data", info.data},         {"settings", info.settings}};
  json["batch"] = info.batch;
  if (info.parallelism.threads > 0) json["threads"] = info.parallelism.threads;
  if (info.parallelism.mesh) json["mesh"] = *info.parallelism.mesh;
  if (info.parallelism.leaves > 0) json["leaves"] = info.parallelism.leaves;
  json["program"] = info.program;
  json["row_order"] = info.rowOrder;
  json["sources"] = info.sources;
  if (!info.resumedFrom.empty()) json["resumed_from"] = info.resumedFrom;
  if (!info.source.is_null()) json["source"] = info.source;
  if (!info.best.is_null()) json["best"] = info.best;
  json["state"] = describeState(manifest);
  json["files"] = Json::array();
  for (const FileRecord &file : files) json["files"].push_back(recordOf(file));
  return sealManifest(json);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

MappedFile openPart(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) damaged("{}: the file is missing", path);
    failSystem("read", path);
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) damaged("{}: byte 0: the file is empty or not a file", path);
  return MappedFile(path);
}

Json readManifestOf(const std::string &folder) {
  std::string path = folder + "/" + manifestFile;
  MappedFile file = openPart(path);
  std::string_view text = file.text();
  if (text.size() < sealBytes) damaged("{}: byte {}: the file is truncated", path, text.size());
  std::string_view content = text.substr(0, text.size() - sealBytes);
  if (text.substr(content.size()) !=
      fmt::format(",\n \"hash\": \"{:016x}\"\n}}\n", hashXxh64(content.data(), content.size())))
    damaged("{}: the file does not match its hash", path);
  Json manifest = orDamaged(path, [&] { return parseJson(text, path); });
  int64_t version = orDamaged(path, [&] { return asInteger(member(manifest, "format", path), path); });
  if (version != formatVersion)
    fail("{}: a checkpoint of format {}, this program reads {}", path, version, formatVersion);
  return manifest;
}

void checkHashes(const std::string &folder, const char *name, const MappedFile &file, const Json &manifest,
                 ChunkShare &share) {
  std::string path = folder + "/" + name, listed = fmt::format("{}/{}: files", folder, manifestFile);
  const Json &records = member(manifest, "files", folder + "/" + manifestFile);
  if (!records.is_array()) fail("{}: expected a list", listed);
  const Json *record = nullptr;
  for (const Json &file : records)
    if (member(file, "name", listed) == name) record = &file;
  if (!record) damaged("{}: the manifest does not list this file", path);
  std::string where = fmt::format("{}: {}", listed, name);
  if (static_cast<int64_t>(file.size()) != asInteger(member(*record, "bytes", where), where + ": bytes"))
    damaged("{}: byte {}: the file is truncated or too long", path, file.size());
  const Json &expected = member(*record, "chunk_hashes", where);
  if (!expected.is_array()) fail("{}: chunk_hashes: expected a list", where);
  for (size_t i = 0; i < chunksIn(file.size()); ++i) {
    if (!share.takesNext()) continue;
    std::string_view chunk = chunkOf(file.text(), i);
    if (i >= expected.size() || expected[i] != fmt::format("{:016x}", hashXxh64(chunk.data(), chunk.size())))
      damaged("{}: bytes {} to {} do not match their hash", path, i * chunkBytes, i * chunkBytes + chunk.size());
  }
}

/// `CheckpointInfo::sources`, checked as far as it is compared.
static Json readSources(const Json &json, const std::string &path) {
  Json sources = json.value("sources", Json::object());
  if (!sources.is_object()) fail("{}: sources: expected an object, got {}", path, printable(dumpJson(sources), 80));
  for (const auto &[name, source] : sources.items()) {
    std::string where = fmt::format("{}: source '{}'", path, name);
    if (!source.is_object()) fail("{}: expected an object, got {}", where, printable(dumpJson(source), 80));
    if (source.contains("seq")) asInteger(source["seq"], where + ": seq");
    if (source.contains("rows")) asInteger(source["rows"], where + ": rows");
    if (source.contains("bytes") && !source["bytes"].is_array()) fail("{}: bytes: expected a list", where);
    if (source.contains("bytes"))
      for (const Json &size : source["bytes"]) asInteger(size, where + ": bytes");
    for (const char *key : {"validation", "content"})
      if (source.contains(key)) asString(source[key], fmt::format("{}: {}", where, key));
  }
  return sources;
}

/// A key of the manifest at `path`. Throws an Error that names both if it is missing or of another type.
template <typename T> static T readKey(const Json &json, const char *key, const std::string &path) {
  const Json &value = member(json, key, path);
  try {
    return value.get<T>();
  } catch (const Json::exception &e) {
    fail("{}: {}: {}", path, key, reasonOf(e));
  }
}

/// A key that was added later: checkpoints of older programs lack it.
template <typename T> static T readKey(const Json &json, const char *key, const std::string &path, T missing) {
  return json.contains(key) ? readKey<T>(json, key, path) : missing;
}

static CheckpointInfo readInfo(const Json &json, const std::string &path) {
  CheckpointInfo info;
  info.model = readKey<std::string>(json, "model", path);
  info.step = asInteger(member(json, "step", path), path + ": step");
  info.position = asInteger(member(json, "position", path), path + ": position");
  if (info.step < 0 || info.position < 0)
    fail("{}: expected a step and a data position of at least 0, got {} and {}", path, info.step, info.position);
  info.seed = readKey<uint64_t>(json, "seed", path);
  info.evaluated = readKey<bool>(json, "evaluated", path);
  info.data = readKey<std::string>(json, "data", path);
  info.settings = member(json, "settings", path);
  info.batch = readKey<int64_t>(json, "batch", path, 0);
  info.parallelism.threads = readKey<int>(json, "threads", path, 0);
  if (json.contains("mesh")) info.parallelism.mesh = readKey<std::string>(json, "mesh", path);
  info.parallelism.leaves = readKey<int64_t>(json, "leaves", path, 0);
  info.program = readKey<std::string>(json, "program", path, "");
  info.rowOrder = readKey<int>(json, "row_order", path, 1); // RowOrder::Separate
  info.sources = readSources(json, path);
  info.resumedFrom = readKey<std::string>(json, "resumed_from", path, "");
  info.source = json.value("source", Json());
  info.best = json.value("best", Json());
  return info;
}

CheckpointInfo infoIn(const Json &manifest, const std::string &folder) {
  std::string path = folder + "/" + manifestFile;
  return orDamaged(path, [&] { return readInfo(manifest, path); });
}

} // namespace tessera::runtime
