//===- Manifest.cpp - the manifest of a training program ------------------===//

#include "runtime/program/Manifest.h"

#include "runtime/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/program/Roles.h"

#include <algorithm>

namespace tessera::runtime {

static constexpr const char *where = "manifest";

ElementType parseElementType(const std::string &name, const std::string &where) {
  if (std::optional<ElementType> type = elementTypeNamed(name)) return *type;
  fail("{}: unknown element type '{}'", where, name);
}

std::string formatAxes(const std::vector<AxisSpec> &axes) {
  std::string text = "[";
  for (const AxisSpec &axis : axes) text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", axis.name, axis.size);
  return text + "]";
}

int64_t wholeSize(const AxisSpec &axis, const std::vector<DividedAxis> &divided) {
  for (const DividedAxis &part : divided)
    if (part.axis == axis.name) return part.whole;
  return axis.size;
}

std::vector<AxisSpec> StateEntry::canonicalAxes() const {
  std::vector<AxisSpec> result;
  for (const std::string &name : canonical)
    result.push_back(*std::find_if(axes.begin(), axes.end(), [&](const AxisSpec &axis) { return axis.name == name; }));
  return result;
}

std::vector<AxisSpec> StateEntry::wholeAxes() const {
  std::vector<AxisSpec> result = canonicalAxes();
  for (AxisSpec &axis : result) axis.size = wholeSize(axis, divided);
  return result;
}

int64_t StateEntry::wholeElements() const {
  int64_t count = 1;
  for (const AxisSpec &axis : wholeAxes()) count *= axis.size;
  return count;
}

const ValueSpec *EntryFunction::input(const std::string &role) const {
  auto found = std::find_if(inputs.begin(), inputs.end(), [&](const ValueSpec &v) { return v.role == role; });
  return found == inputs.end() ? nullptr : &*found;
}

const ValueSpec *EntryFunction::output(const std::string &role, const std::string &name) const {
  auto found = std::find_if(outputs.begin(), outputs.end(),
                            [&](const ValueSpec &v) { return v.role == role && (name.empty() || v.name == name); });
  return found == outputs.end() ? nullptr : &*found;
}

const EntryFunction &Manifest::entry(const std::string &name) const {
  auto found = entries.find(name);
  if (found == entries.end()) fail("this program was compiled without the entry function '{}'", name);
  return found->second;
}

const StateEntry *Manifest::stateAt(const std::string &path) const {
  auto found = std::find_if(state.begin(), state.end(), [&](const StateEntry &s) { return s.path == path; });
  return found == state.end() ? nullptr : &*found;
}

const FieldSpec *DataSpec::fieldNamed(const std::string &field) const {
  auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldSpec &f) { return f.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

const DataSpec *Manifest::dataNamed(const std::string &name) const {
  auto found = std::find_if(data.begin(), data.end(), [&](const DataSpec &d) { return d.name == name; });
  return found == data.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static int64_t integerAt(const Json &object, const char *key, int64_t missing = -1) {
  auto found = object.find(key);
  if (missing >= 0 && (found == object.end() || found->is_null())) return missing;
  return asInteger(member(object, key, where), fmt::format("{}: '{}'", where, key));
}

static std::string stringAt(const Json &object, const char *key) {
  return asString(member(object, key, where), fmt::format("{}: '{}'", where, key));
}

static std::string stringOr(const Json &object, const char *key, const char *missing) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : missing;
}

static std::vector<AxisSpec> readAxes(const Json &list) {
  std::vector<AxisSpec> axes;
  for (const Json &axis : list) {
    if (!axis.is_array() || axis.size() != 2) fail("{}: expected an axis as [name, size], got {}", where, axis.dump());
    axes.push_back({asString(axis[0], where), asInteger(axis[1], where)});
    if (axes.back().size <= 0) fail("{}: axis '{}' has size {}", where, axes.back().name, axes.back().size);
  }
  return axes;
}

/// The key `divided` of a state or a value with these axes: an object, by axis.
static std::vector<DividedAxis> readDivided(const Json &json, const std::vector<AxisSpec> &axes) {
  std::vector<DividedAxis> divided;
  if (!json.contains("divided")) return divided;
  for (const auto &[name, part] : json["divided"].items()) {
    auto axis = std::find_if(axes.begin(), axes.end(), [&](const AxisSpec &axis) { return axis.name == name; });
    if (axis == axes.end()) fail("{}: the divided axis '{}' is none of {}", where, name, formatAxes(axes));
    divided.push_back({name, stringAt(part, "along"), integerAt(part, "whole"), integerAt(part, "blocks", 1)});
    auto [whole, blocks] = std::pair(divided.back().whole, divided.back().blocks);
    if (whole < 1) fail("{}: the divided axis '{}' has no elements", where, name);
    if (blocks < 1 || whole % blocks != 0 || axis->size % blocks != 0)
      fail("{}: the divided axis '{}' has no {} equal blocks", where, name, blocks);
  }
  return divided;
}

/// A time, or another number that is not negative.
static double amountAt(const Json &json, const char *key) {
  if (!json.contains(key) || !json[key].is_number() || !(json[key].get<double>() >= 0))
    fail("{}: '{}': expected a number that is at least 0", where, key);
  return json[key];
}

/// Checks that [offset, offset + bytes) is in the arena and that `bytes` agrees with the axes.
static void checkRegion(const std::string &name, ElementType type, const std::vector<AxisSpec> &axes, int64_t offset,
                        int64_t bytes, int64_t arena) {
  int64_t expected = bytesOf(type);
  for (const AxisSpec &axis : axes)
    if (__builtin_mul_overflow(expected, axis.size, &expected)) fail("{}: '{}' overflows", where, name);
  if (expected != bytes) fail("{}: '{}' has {} bytes, its axes need {}", where, name, bytes, expected);
  if (offset < 0 || bytes > arena || offset > arena - bytes) fail("{}: '{}' is outside of the arena", where, name);
  if (offset % bytesOf(type) != 0) fail("{}: '{}' is not aligned", where, name);
}

static StateEntry readState(const Json &json, int64_t arena) {
  StateEntry entry;
  entry.path = stringAt(json, "path");
  entry.kind = stringAt(json, "kind");
  entry.type = parseElementType(stringAt(json, "type"), where);
  entry.axes = readAxes(member(json, "axes", where));
  for (const Json &name : member(json, "canonical", where)) entry.canonical.push_back(asString(name, where));
  entry.offset = integerAt(json, "offset");
  entry.bytes = integerAt(json, "bytes");
  entry.divided = readDivided(json, entry.axes);
  checkRegion(entry.path, entry.type, entry.axes, entry.offset, entry.bytes, arena);
  std::vector<std::string> memory, canonical = entry.canonical;
  for (const AxisSpec &axis : entry.axes) memory.push_back(axis.name);
  std::sort(memory.begin(), memory.end());
  std::sort(canonical.begin(), canonical.end());
  if (memory != canonical) fail("{}: the axes of '{}' and its canonical order differ", where, entry.path);
  checkKind(entry, where);
  return entry;
}

static ValueSpec readValue(const Json &json, int64_t arena) {
  ValueSpec value;
  value.name = stringAt(json, "name");
  value.role = stringAt(json, "role");
  value.data = stringOr(json, "data", "");
  value.field = stringOr(json, "field", "");
  value.type = parseElementType(stringAt(json, "type"), where);
  value.axes = readAxes(member(json, "axes", where));
  value.of = integerAt(json, "of", 0);
  if (json.contains("reads"))
    for (const Json &name : json["reads"]) value.reads.push_back(asString(name, where));
  value.offset = integerAt(json, "offset");
  value.bytes = integerAt(json, "bytes");
  value.divided = readDivided(json, value.axes);
  checkRegion(value.name, value.type, value.axes, value.offset, value.bytes, arena);
  return value;
}

static EntryFunction readEntry(const std::string &name, const Json &json, int64_t arena) {
  EntryFunction entry;
  entry.name = name;
  if (json.contains("inputs"))
    for (const Json &value : json["inputs"]) entry.inputs.push_back(readValue(value, arena));
  if (json.contains("outputs"))
    for (const Json &value : json["outputs"]) entry.outputs.push_back(readValue(value, arena));
  entry.flops = json.value("flops", 0.0);
  if (json.contains("trace")) entry.trace = readTrace(json["trace"]);
  checkRoles(entry, where);
  return entry;
}

static ElementType readGemmType(const Json &json, const char *key, const char *missing) {
  std::string name = stringOr(json, key, missing);
  if (std::optional<ElementType> type = elementTypeNamed(name); type && isFloat(*type) && type != ElementType::F64)
    return *type;
  fail("{}: contractions of type '{}' are not supported", where, name);
}

static GemmEpilogue readEpilogue(const Json &json) {
  std::string name = stringOr(json, "epilogue", "");
  if (name.empty()) return GemmEpilogue::None;
  if (name == "gelu") return GemmEpilogue::Gelu;
  if (name == "gelu_grad") return GemmEpilogue::GeluGrad;
  fail("{}: contractions with the epilogue '{}' are not supported", where, name);
}

static std::optional<uint32_t> readEpilogueKernel(const Json &json, const std::vector<KernelSpec> &kernels) {
  std::string name = stringOr(json, "epilogue_kernel", "");
  if (name.empty()) return std::nullopt;
  for (size_t i = 0; i < kernels.size(); ++i)
    if (kernels[i].name == name) return static_cast<uint32_t>(i);
  fail("{}: there is no kernel '{}' for an epilogue", where, name);
}

/// What the model of costs says of a kernel or a contraction.
static void readCost(const Json &json, std::optional<double> &seconds, Json &work) {
  if (json.contains("seconds")) seconds = amountAt(json, "seconds");
  if (json.contains("work")) work = json["work"];
}

using Counts = std::map<std::string, int64_t>;

/// Counts by name, empty if there are none.
static Counts readCounts(const Json &json, const char *key) {
  Counts counts;
  if (json.contains(key))
    for (const auto &[name, count] : json[key].items()) counts[name] = asInteger(count, where);
  return counts;
}

static GemmSpec readGemm(const Json &json, const std::vector<KernelSpec> &kernels) {
  auto numbers = [&](const char *key) { return member(json, key, where).get<std::vector<int64_t>>(); };
  GemmSpec gemm;
  gemm.name = stringAt(json, "name");
  gemm.line = json.value("at", "");
  gemm.a.type = readGemmType(json, "type", "f32");
  gemm.b.type = readGemmType(json, "type_b", elementTypeName(gemm.a.type));
  gemm.c.type = readGemmType(json, "result_type", "f32");
  gemm.a.dims = numbers("dims_a"), gemm.a.strides = numbers("strides_a");
  gemm.b.dims = numbers("dims_b"), gemm.b.strides = numbers("strides_b");
  gemm.c.dims = numbers("dims_c"), gemm.c.strides = numbers("strides_c");
  for (const GemmMatrix *matrix : {&gemm.a, &gemm.b, &gemm.c})
    if (matrix->dims.size() < 2) fail("{}: contraction '{}' has a matrix without rows or columns", where, gemm.name);
  if (json.contains("bias") && !json["bias"].is_null()) gemm.bias = json["bias"].get<std::vector<int64_t>>();
  gemm.biasType = readGemmType(json, "bias_type", "f32");
  gemm.accumulate = json.value("accumulate", false);
  gemm.tf32 = json.value("tf32", false);
  gemm.epilogue = readEpilogue(json);
  gemm.hasAux = json.value("aux", false);
  if (json.value("part", false)) gemm.partCalls = readCounts(json, "calls")["step"];
  gemm.epilogueKernel = readEpilogueKernel(json, kernels);
  if (gemm.epilogue == GemmEpilogue::GeluGrad && !gemm.hasAux) fail("{}: contraction '{}' lacks aux", where, gemm.name);
  readCost(json, gemm.seconds, gemm.work);
  return gemm;
}

static std::map<std::string, std::vector<std::string>> readSplits(const Json &json) {
  std::map<std::string, std::vector<std::string>> splits;
  if (!json.contains(data_keys::splits) || json[data_keys::splits].is_null()) return splits;
  for (const auto &[split, paths] : json[data_keys::splits].items())
    for (const Json &path : paths) splits[split].push_back(asString(path, where));
  return splits;
}

/// "age" or 3.
static ColumnSpec readColumn(const Json &json) {
  if (json.is_string()) return {asString(json, where), 0};
  return {"", asInteger(json, where)};
}

static FieldSpec readField(const Json &json) {
  FieldSpec field = {stringAt(json, data_keys::name), readAxes(json.value(data_keys::axes, Json::array())), 0,
                     readSplits(json)};
  field.type = parseElementType(stringOr(json, data_keys::type, "f32"), where);
  if (json.contains(data_keys::columns))
    for (const Json &column : json[data_keys::columns]) field.columns.push_back(readColumn(column));
  else if (json.contains(data_keys::column) && json[data_keys::column].is_string())
    field.columns = {readColumn(json[data_keys::column])};
  else
    field.column = integerAt(json, data_keys::column, 0);
  if (json.contains(data_keys::classes))
    for (const Json &name : json[data_keys::classes]) field.classes.push_back(asString(name, where));
  if (json.contains(data_keys::classAxes))
    for (const Json &axis : json[data_keys::classAxes]) field.classAxes.push_back(asString(axis, where));
  if (json.contains(data_keys::missing) && json[data_keys::missing].is_number())
    field.missing = json[data_keys::missing];
  return field;
}

static DataSpec readData(const Json &json) {
  DataSpec data;
  data.name = stringAt(json, data_keys::name);
  std::string format = stringAt(json, data_keys::format);
  std::optional<DataFormat> known = dataFormatNamed(format);
  if (!known) fail("{}: data '{}' has the unknown format '{}'", where, data.name, format);
  data.format = *known;
  auto array = [&](const char *key) { return json.contains(key) && json[key].is_array() ? &json[key] : nullptr; };
  if (const Json *batch = array(data_keys::batch)) data.batchAxis = asString(batch->at(0), where);
  if (const Json *seq = array(data_keys::seq)) data.seq = asInteger(seq->at(1), where);
  data.width = integerAt(json, data_keys::width, 16);
  data.splits = readSplits(json);
  if (json.contains(data_keys::valFraction) && json[data_keys::valFraction].is_number())
    data.valFraction = json[data_keys::valFraction];
  if (data.valFraction < 0 || data.valFraction >= 1)
    fail("{}: '{}' must be at least 0 and below 1", where, data_keys::valFraction);
  data.shuffle = json.value(data_keys::shuffle, true);
  if (json.contains(data_keys::valSeed)) data.valSeed = integerAt(json, data_keys::valSeed);
  if (json.contains(data_keys::fields))
    for (const Json &field : json[data_keys::fields]) data.fields.push_back(readField(field));
  return data;
}

static KernelSpec readKernel(const Json &json) {
  KernelSpec kernel;
  kernel.name = stringAt(json, "name");
  kernel.flops = integerAt(json, "flops", 0);
  kernel.contracts = json.value("contracts", false);
  kernel.read = integerAt(json, "read", 0), kernel.written = integerAt(json, "written", 0);
  kernel.blocks = integerAt(json, "blocks", 0), kernel.threads = integerAt(json, "threads", 0);
  if (json.contains("arguments"))
    for (const Json &argument : json["arguments"]) {
      if (!argument.is_array() || argument.size() != 2 || !argument[1].is_boolean())
        fail("{}: expected each argument of kernel '{}' as [bytes, is written]", where, kernel.name);
      kernel.arguments.push_back({asInteger(argument[0], where), argument[1].get<bool>()});
    }
  kernel.isPart = json.value("part", false);
  readCost(json, kernel.seconds, kernel.work);
  kernel.line = json.value("at", "");
  kernel.of = json.value("of", "");
  kernel.calls = readCounts(json, "calls"), kernel.ops = readCounts(json, "ops");
  return kernel;
}

static void readPlan(const Json &json, Manifest &manifest) {
  if (json.contains("buffers"))
    for (const Json &b : json["buffers"])
      manifest.buffers.push_back({stringAt(b, "name"), stringOr(b, "entry", "*"), stringOr(b, "kind", "temporary"),
                                  stringOr(b, "type", ""), stringOr(b, "at", ""), integerAt(b, "offset"),
                                  integerAt(b, "bytes")});
}

static PredictedEntry readPredictedEntry(const Json &json) {
  PredictedEntry entry;
  entry.seconds = amountAt(json, "seconds"), entry.least = amountAt(json, "least"), entry.most = amountAt(json, "most");
  if (json.contains("peak")) entry.flops = amountAt(json, "flops"), entry.peak = amountAt(json, "peak");
  entry.type = stringOr(json, "type", "");
  if (json.contains("passes")) entry.passes = json["passes"].get<std::map<std::string, double>>();
  if (json.contains("beside")) entry.beside = amountAt(json, "beside");
  if (json.contains("assumed_links")) entry.assumedLinks = json["assumed_links"].get<std::vector<std::string>>();
  for (const Json &repeat : json.value("repeats", Json::array()))
    entry.repeats.push_back({stringAt(repeat, "axis"), stringOr(repeat, "pass", ""), integerAt(repeat, "iterations"),
                             integerAt(repeat, "depth", 0), amountAt(repeat, "seconds")});
  return entry;
}

static PredictedTimes readPredictedTimes(const Json &json) {
  PredictedTimes prediction;
  prediction.source = stringAt(json, "source");
  if (json.contains("entries"))
    for (const auto &[name, entry] : json["entries"].items()) prediction.entries[name] = readPredictedEntry(entry);
  return prediction;
}

static TargetSpec readTarget(const Json &json) {
  TargetSpec target;
  target.march = stringOr(json, "march", "");
  if (json.contains("features")) target.features = json["features"].get<std::vector<std::string>>();
  target.threads = integerAt(json, "threads", 0);
  std::string kind = stringAt(json, "kind");
  if (kind == "cuda") target.architectures = member(json, "architectures", where).get<std::vector<std::string>>();
  target.toolkit = stringOr(json, "cuda", "");
  if (json.contains("context")) target.contextBytes = integerAt(json, "context");
  if (kind != "cpu" && (kind != "cuda" || target.architectures.empty()))
    fail("this launcher runs programs for the targets 'cpu' and 'cuda', not '{}'", kind);
  return target;
}

static ArenaSpec readArena(const Json &json, int64_t threads) {
  ArenaSpec arena;
  arena.bytes = integerAt(json, "bytes");
  if (arena.bytes < 0) fail("{}: the arena has {} bytes", where, arena.bytes);
  if (json.contains("bound")) arena.bound = integerAt(json, "bound");
  if (arena.bound && (*arena.bound < 0 || *arena.bound > arena.bytes))
    fail("{}: the arena of {} bytes cannot have {} at least", where, arena.bytes, *arena.bound);
  if (json.contains("recomputation")) {
    const Json &times = json["recomputation"];
    arena.recomputation = {amountAt(times, "seconds"), amountAt(times, "step"), amountAt(times, "bound")};
  }
  if (json.contains("workspace") && !json["workspace"].is_null()) {
    arena.workspaceOffset = integerAt(json["workspace"], "offset");
    arena.workspaceBytes = integerAt(json["workspace"], "bytes");
  }
  if (arena.workspaceOffset < 0 || arena.workspaceBytes < 0 || arena.workspaceBytes > arena.bytes ||
      arena.workspaceOffset > arena.bytes - arena.workspaceBytes)
    fail("{}: the workspace is outside of the arena", where);
  if (json.contains("scratch") && !json["scratch"].is_null()) arena.scratchBytes = integerAt(json["scratch"], "bytes");
  int64_t scratch = 0;
  if (arena.scratchBytes < 0 || __builtin_mul_overflow(arena.scratchBytes, threads, &scratch) || scratch > arena.bytes)
    fail("{}: the scratch memory of {} threads with {} bytes each exceeds the arena of {}", where, threads,
         arena.scratchBytes, arena.bytes);
  return arena;
}

/// Checks that parts of the mesh's size cover what is divided.
static void checkDivided(const std::string &name, const std::vector<DividedAxis> &divided,
                         const std::vector<AxisSpec> &axes, const RanksSpec &ranks) {
  for (const DividedAxis &part : divided) {
    int64_t count = ranks.sizeAlong(part.along);
    if (count == 0) fail("{}: '{}' is divided along '{}', which the mesh lacks", where, name, part.along);
    auto axis = std::find_if(axes.begin(), axes.end(), [&](const AxisSpec &axis) { return axis.name == part.axis; });
    bool isCovered = axis->size == (part.whole + count - 1) / count;
    if (!isCovered || (part.blocks > 1 && axis->size * count != part.whole))
      fail("{}: '{}' has parts of {} of the {} elements of '{}', for {} ranks", where, name, axis->size, part.whole,
           part.axis, count);
  }
}

static Manifest readManifest(const Json &json) {
  Manifest manifest;
  if (int64_t abi = integerAt(json, "abi"); abi != TSR_ABI_VERSION)
    fail("{}: ABI version {}, expected {}; compile the program again", where, abi, TSR_ABI_VERSION);
  manifest.compiler = stringOr(json, "compiler", "unknown");
  manifest.model = stringAt(json, "model");
  manifest.target = readTarget(member(json, "target", where));
  manifest.arena = readArena(member(json, "arena", where), manifest.target.threads);
  for (const Json &entry : member(json, "state", where))
    manifest.state.push_back(readState(entry, manifest.arena.bytes));
  for (const auto &[name, entry] : member(json, "entries", where).items())
    manifest.entries[name] = readEntry(name, entry, manifest.arena.bytes);
  if (json.contains("kernels"))
    for (const Json &kernel : json["kernels"]) manifest.kernels.push_back(readKernel(kernel));
  if (json.contains("gemms"))
    for (const Json &gemm : json["gemms"]) manifest.gemms.push_back(readGemm(gemm, manifest.kernels));
  manifest.target.ranks = readRanksSpec(json, where);
  for (const StateEntry &entry : manifest.state)
    checkDivided(entry.path, entry.divided, entry.axes, manifest.target.ranks);
  for (const auto &[name, entry] : manifest.entries)
    for (const auto *values : {&entry.inputs, &entry.outputs})
      for (const ValueSpec &value : *values) checkDivided(value.name, value.divided, value.axes, manifest.target.ranks);
  if (json.contains("data"))
    for (const Json &data : json["data"]) manifest.data.push_back(readData(data));
  manifest.settings = json.value("settings", Json::object());
  manifest.source = json.value("source", Json());
  if (json.contains("predicted")) manifest.predicted = readPredictedTimes(json["predicted"]);
  if (json.contains("memory")) manifest.memory = readMemorySpec(json["memory"], where);
  if (json.contains("plan") && json["plan"].is_object()) readPlan(json["plan"], manifest);
  return manifest;
}

int64_t Manifest::stateBytes() const {
  int64_t bytes = 0;
  for (const StateEntry &entry : state) bytes += entry.bytes;
  return bytes;
}

int64_t Manifest::wholeStateBytes() const {
  int64_t bytes = 0;
  for (const StateEntry &entry : state) bytes += entry.wholeBytes();
  return bytes;
}

int64_t Manifest::parameters() const {
  int64_t count = 0;
  for (const StateEntry &entry : state)
    if (entry.isParameter()) count += entry.wholeElements();
  return count;
}

Manifest parseManifest(const std::string &text) {
  try {
    Json json = parseJson(text, where, 0, deepestManifest);
    Manifest manifest = readManifest(json);
    manifest.textBytes = static_cast<int64_t>(text.size() - memberLength(text, "memory"));
    return manifest;
  } catch (const Json::exception &e) {
    fail("{}: {}", where, reasonOf(e));
  }
}

} // namespace tessera::runtime
