//===- Checkpoint.cpp - saving and loading a run --------------------------===//
//
// Saves such that a crash at any point leaves earlier checkpoints intact:
//   1. make a folder with a temporary name
//   2. write both tensor files, fsync each
//   3. write manifest.json, fsync it and the folder
//   4. rename the folder
//   5. fsync the parent
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Checkpoint.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/AxisOrder.h"
#include "runtime/checkpoint/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::runtime {

static constexpr int formatVersion = 1;

static std::vector<const StateEntry *> entriesOf(const Manifest &manifest, bool model) {
  std::vector<const StateEntry *> entries;
  for (const StateEntry &entry : manifest.state)
    if (entry.isModel() == model) entries.push_back(&entry);
  return entries;
}

//===----------------------------------------------------------------------===//
// Saving
//===----------------------------------------------------------------------===//

namespace {
/// The folder of a checkpoint that is written.
struct NewFolder {
  std::string temporary, final; ///< its path until it is whole, and from then on: that of messages
  DurableFile create(const char *name) const { return DurableFile(temporary + "/" + name, final + "/" + name); }
};
} // namespace

static Json writeTensors(const NewFolder &folder, const char *name, const std::vector<const StateEntry *> &entries,
                         const StateAddress &address) {
  DurableFile file = folder.create(name);
  writeSafetensors(file, entries, address);
  Json hashes = Json::array();
  for (uint64_t hash : file.hashes()) hashes.push_back(fmt::format("{:016x}", hash));
  return {{"name", name}, {"bytes", file.size()}, {"chunk_hashes", hashes}};
}

/// Closes the manifest with a hash of all bytes before that hash.
static std::string sealManifest(const Json &manifest) {
  std::string text = dumpJson(manifest, 1);
  text.resize(text.size() - 2); // "\n}"
  return text + fmt::format(",\n \"hash\": \"{:016x}\"\n}}\n", hashXxh64(text.data(), text.size()));
}

static constexpr size_t sealBytes = sizeof(",\n \"hash\": \"0123456789abcdef\"\n}\n") - 1;

static void writeFiles(const NewFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                       const StateAddress &address) {
  Json json = {{"format", formatVersion},     {"model", info.model},       {"compiler", manifest.compiler},
               {"step", info.step},           {"position", info.position}, {"seed", info.seed},
               {"evaluated", info.evaluated}, {"data", info.data},         {"settings", info.settings}};
  json["batch"] = info.batch;
  if (info.threads > 0) json["threads"] = info.threads;
  json["program"] = info.program;
  json["row_order"] = info.rowOrder;
  json["sources"] = info.sources;
  if (!info.resumedFrom.empty()) json["resumed_from"] = info.resumedFrom;
  if (!info.source.is_null()) json["source"] = info.source;
  if (!info.best.is_null()) json["best"] = info.best;
  Json state = Json::array();
  for (const StateEntry &entry : manifest.state) {
    Json shape = Json::array();
    for (const AxisSpec &axis : entry.canonicalAxes()) shape.push_back({axis.name, axis.size});
    state.push_back(
        {{"path", entry.path}, {"kind", entry.kind}, {"type", elementTypeName(entry.type)}, {"axes", shape}});
  }
  json["state"] = state;
  json["files"] = {writeTensors(folder, modelFile, entriesOf(manifest, true), address),
                   writeTensors(folder, optimizerFile, entriesOf(manifest, false), address)};
  std::string text = sealManifest(json);
  DurableFile file = folder.create(manifestFile);
  file.append(text.data(), text.size());
  file.commit();
  syncFolder(folder.temporary);
}

/// Renames a folder; replaces a damaged one of the same name.
static void commitFolder(const std::string &temporary, const std::string &final) {
  if (rename(temporary.c_str(), final.c_str()) == 0) return;
  bool exists = errno == EEXIST || errno == ENOTEMPTY;
  if (errno == ENOTDIR) fail("cannot commit the checkpoint {}: a file is there", final);
  if (!exists) failSystem("commit the checkpoint", final);
  std::string old = temporary;
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) failSystem("commit the checkpoint", final);
    // File systems without RENAME_EXCHANGE: for a moment neither folder has the name, and the previous checkpoint is
    // the newest.
    old = temporary + "-old";
    if (rename(final.c_str(), old.c_str()) != 0 || rename(temporary.c_str(), final.c_str()) != 0)
      failSystem("commit the checkpoint", final);
  }
  std::error_code error;
  fs::remove_all(old, error);
}

std::string saveCheckpoint(const CheckpointFolder &folder, const CheckpointInfo &info, const Manifest &manifest,
                           const StateAddress &address) {
  std::string final = folder.pathOf(info.step);
  std::string temporary =
      fmt::format("{}/{}{}-{}", folder.path(), temporaryPrefix, checkpointName(info.step), getpid());
  if (mkdir(temporary.c_str(), 0777) != 0) failSystem("create", final);
  try {
    writeFiles({temporary, final}, info, manifest, address);
    commitFolder(temporary, final);
  } catch (...) {
    std::error_code error;
    fs::remove_all(temporary, error);
    throw;
  }
  syncFolder(folder.path());
  return final;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

template <typename... Args> [[noreturn]] static void damaged(fmt::format_string<Args...> format, Args &&...args) {
  throw CheckpointDamaged(fmt::format(format, std::forward<Args>(args)...));
}

/// Opens a file of a checkpoint. A missing or empty file is damage. A file that cannot be read (it may be intact)
/// stops the run.
static MappedFile openPart(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) damaged("{}: the file is missing", path);
    failSystem("read", path);
  }
  if (!S_ISREG(info.st_mode) || info.st_size == 0) damaged("{}: byte 0: the file is empty or not a file", path);
  return MappedFile(path);
}

/// Runs `read`, which reads the file `path`; malformed contents are damage.
template <typename Read> static auto orDamaged(const std::string &path, Read read) {
  try {
    return read();
  } catch (const Error &e) {
    throw CheckpointDamaged(e.what());
  } catch (const Json::exception &e) {
    throw CheckpointDamaged(fmt::format("{}: {}", path, reasonOf(e)));
  }
}

static Json readManifest(const std::string &folder) {
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

/// Compares the tensor file `name` of a checkpoint with the hashes of its manifest.
static void checkHashes(const std::string &folder, const char *name, const MappedFile &file, const Json &manifest) {
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
  std::vector<uint64_t> hashes = hashChunks(file.text());
  const Json &expected = member(*record, "chunk_hashes", where);
  if (!expected.is_array()) fail("{}: chunk_hashes: expected a list", where);
  for (size_t i = 0; i < hashes.size(); ++i)
    if (i >= expected.size() || expected[i] != fmt::format("{:016x}", hashes[i]))
      damaged("{}: bytes {} to {} do not match their hash", path, i * chunkBytes,
              std::min(file.size(), (i + 1) * chunkBytes));
}

static SafetensorsFile openVerified(const std::string &folder, const char *name, const Json &manifest) {
  std::string path = folder + "/" + name;
  MappedFile file = openPart(path);
  return orDamaged(path, [&] {
    checkHashes(folder, name, file, manifest);
    return SafetensorsFile(std::move(file));
  });
}

/// Checks that a file has exactly the tensors of `entries`, in type and shape.
static void checkTensors(const SafetensorsFile &file, const std::vector<const StateEntry *> &entries) {
  for (const SafeTensor &tensor : file.tensors()) {
    bool known = std::any_of(entries.begin(), entries.end(), [&](auto *entry) { return entry->path == tensor.name; });
    if (!known) fail("{}: the program has no state '{}'", file.path(), tensor.name);
  }
  for (const StateEntry *entry : entries) {
    const SafeTensor *tensor = file.find(entry->path);
    if (!tensor) fail("{}: lacks '{}', which the program needs", file.path(), entry->path);
    checkTensor(file, *tensor, *entry);
  }
}

/// Checks both files of the checkpoint at `path`. What does not fit to the program is reported with what to do.
static void checkState(const std::string &path, const Manifest &manifest, const SafetensorsFile &model,
                       const SafetensorsFile &optimizer) {
  std::string start = "another --checkpoint-dir starts a new run, and --init " + path, advice;
  try {
    advice = start + " --only PATTERN lets it take over the parameters that fit";
    checkTensors(model, entriesOf(manifest, true));
    advice = start + " lets it take over the parameters, which fit";
    checkTensors(optimizer, entriesOf(manifest, false));
  } catch (const Error &e) {
    throw Error(fmt::format("{}; {}", e.what(), advice), e.exitStatus());
  }
}

static void readTensors(const SafetensorsFile &file, const std::vector<const StateEntry *> &entries,
                        const StateAddress &address) {
  for (const StateEntry *entry : entries) fromCanonical(*entry, file.find(entry->path)->data, address(*entry));
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
  info.threads = readKey<int>(json, "threads", path, 0);
  info.program = readKey<std::string>(json, "program", path, "");
  info.rowOrder = readKey<int>(json, "row_order", path, 1); // RowOrder::Separate
  info.sources = readSources(json, path);
  info.resumedFrom = readKey<std::string>(json, "resumed_from", path, "");
  info.source = json.value("source", Json());
  info.best = json.value("best", Json());
  return info;
}

static CheckpointInfo infoIn(const Json &manifest, const std::string &folder) {
  std::string path = folder + "/" + manifestFile;
  return orDamaged(path, [&] { return readInfo(manifest, path); });
}

CheckpointInfo readCheckpointInfo(const std::string &path) { return infoIn(readManifest(path), path); }

CheckpointInfo loadCheckpoint(const std::string &path, const Manifest &manifest, const StateAddress &address) {
  Json json = readManifest(path);
  CheckpointInfo info = infoIn(json, path);
  SafetensorsFile model = openVerified(path, modelFile, json), optimizer = openVerified(path, optimizerFile, json);
  checkState(path, manifest, model, optimizer);
  readTensors(model, entriesOf(manifest, true), address);
  readTensors(optimizer, entriesOf(manifest, false), address);
  return info;
}

bool looksWhole(const std::string &path) {
  try {
    Json manifest = readManifest(path);
    for (const Json &file : member(manifest, "files", path)) {
      uint64_t size = fs::file_size(path + "/" + asString(member(file, "name", path), path));
      if (size != static_cast<uint64_t>(asInteger(member(file, "bytes", path), path))) return false;
    }
    return true;
  } catch (const std::exception &) {
    return false;
  }
}

SafetensorsFile openModel(const std::string &path) { return openVerified(path, modelFile, readManifest(path)); }

} // namespace tessera::runtime
