//===- DeviceFields.cpp - the fields of a description of a device ---------===//

#include "ir/program/DeviceFields.h"
#include "ir/program/ComputingOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static bool isLetterOrDigit(char c) { return llvm::isAlnum(c) || c == '_'; }

bool tessera::isDeviceName(StringRef name) {
  auto isAllowed = [](char c) { return isLetterOrDigit(c) || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= 64 && isLetterOrDigit(name.front()) && llvm::all_of(name, isAllowed);
}

/// sm_90a
static bool isArchitecture(StringRef text) {
  if (!text.consume_front("sm_")) return false;
  StringRef digits = text.take_while(llvm::isDigit), suffix = text.drop_front(digits.size());
  return !digits.empty() && digits.size() <= 4 && (suffix.empty() || suffix == "a" || suffix == "f");
}

static bool isSource(StringRef text) { return text == "data sheet" || text == "calibrated"; }

/// A text of one line that a file can contain: without a comment, and without space at its ends.
static bool isLine(StringRef text) {
  auto isControl = [](char c) { return llvm::isPrint(c) == 0 && static_cast<unsigned char>(c) < 0x80; };
  return !text.empty() && text.size() <= 200 && text == text.trim() && !text.contains('#') &&
         llvm::none_of(text, isControl);
}

static bool isSpeedTable(StringRef text);
static bool isComputing(StringRef text) { return findComputingOp(text) != nullptr; }

/// 1 to 4096.
static bool isThreadCount(StringRef text) {
  unsigned count;
  return !text.starts_with("0") && !text.starts_with("+") && !text.getAsInteger(10, count) && count <= 4096;
}

static constexpr TextForm architectureForm{isArchitecture, "an architecture, such as sm_90a"},
    marchForm{isDeviceName, "a processor by LLVM's name, such as znver5"},
    sourceForm{isSource, "`data sheet` or `calibrated`"},
    lineForm{isLine, "a text of one line, at most 200 bytes, without #"}, tableForm{isSpeedTable, "`intel` or `amd`"},
    opForm{isComputing, "an op that computes in kernels, such as exp"},
    threadsForm{isThreadCount, "a number of threads, from 1 to 4096"},
    nameForm{isDeviceName, "a name of letters, digits, `-`, `_` and `.`"};

/// The throughput tables as files name them.
static constexpr std::pair<SpeedTable, StringLiteral> tableNames[] = {{SpeedTable::Intel, "intel"},
                                                                      {SpeedTable::Amd, "amd"}};

static bool isSpeedTable(StringRef text) {
  return llvm::any_of(tableNames, [&](const auto &named) { return text == named.second; });
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// More than any device has, and little enough for products of two fields.
static constexpr double largest = double(int64_t(1) << 40);
static constexpr double mostBytes = double(int64_t(1) << 60);
/// Bounds that tell a slip of the unit from a figure.
static constexpr double leastRate = 1e6, mostRate = 1e18, mostTime = 10;

static constexpr std::optional<Target::Kind> both, cpu = Target::Kind::Cpu, gpu = Target::Kind::Gpu;
static constexpr DeviceUnit none = DeviceUnit::None, bytes = DeviceUnit::Bytes, bandwidth = DeviceUnit::Bandwidth,
                            rate = DeviceUnit::Rate, seconds = DeviceUnit::Time, percent = DeviceUnit::Percent;

#define AT(PATH) +[](Target &target) -> auto & { return target.PATH; }

ArrayRef<DeviceField> tessera::deviceFields() {
  static const DeviceField fields[] = {
      // What it is.
      {"source", both, none, AT(figures.source), "where the figures of speed are from", 0, 0, &sourceForm},
      {"calibrated", both, none, AT(figures.calibrated), "when and by what it was measured", 0, 0, &lineForm},
      {"architecture", gpu, none, AT(figures.gpu.architecture), "what code is compiled for", 0, 0, &architectureForm,
       true},
      {"march", cpu, none, AT(figures.cpu.march), "what code is compiled for", 0, 0, &marchForm},
      {"price", both, DeviceUnit::Price, AT(figures.price), "for an hour", 0, 1e6},

      // Its sizes.
      {"memory", both, bytes, AT(figures.memoryBytes), "of the device; for a CPU, of the machine", 1, mostBytes},
      {"context", gpu, bytes, AT(figures.gpu.contextBytes), "memory that driver, code and libraries take", 0,
       mostBytes},
      {"multiprocessors", gpu, none, AT(gpu.multiprocessors), "of the device", 1, largest, nullptr, true},
      {"threads_per_multiprocessor", gpu, none, AT(gpu.threadsPerMultiprocessor), "that a multiprocessor holds", 1,
       largest, nullptr, true},
      {"registers", gpu, none, AT(figures.gpu.registers), "of 32 bits in a multiprocessor", 1, largest},
      {"shared_memory", gpu, bytes, AT(figures.gpu.sharedBytes), "of a multiprocessor", 1, largest},
      {"cache_bytes", gpu, bytes, AT(gpu.cacheBytes), "of the L2 cache that all multiprocessors share", 0, largest,
       nullptr, true},
      {"clock", gpu, DeviceUnit::Frequency, AT(figures.gpu.clock), "at its highest", 1e6, 1e12},
      {"cores", cpu, none, AT(figures.cpu.cores), "of the machine", 1, largest},
      {"l1_cache", cpu, bytes, AT(figures.cpu.l1Bytes), "for data, of a core", 1, largest},
      {"l2_cache", cpu, bytes, AT(figures.cpu.l2Bytes), "of a core", 1, largest},
      {"l3_cache", cpu, bytes, AT(figures.cpu.l3Bytes), "that `l3_cores` share", 1, largest},
      {"l3_cores", cpu, none, AT(figures.cpu.l3Cores), "cores with a common L3 cache", 1, largest},

      // Multiply-adds of large contractions, with all cores.
      {"f32_rate", both, rate, AT(figures.rates.f32), "f32 operands", leastRate, mostRate},
      {"tf32_rate", gpu, rate, AT(figures.rates.tf32), "f32 operands, rounded to tf32", leastRate, mostRate},
      {"bf16_rate", both, rate, AT(figures.rates.bf16), "bf16 operands, accumulated in f32", leastRate, mostRate},
      {"f16_rate", both, rate, AT(figures.rates.f16), "fp16 operands, accumulated in f32", leastRate, mostRate},
      {"fp8_rate", both, rate, AT(figures.rates.fp8), "fp8 operands, accumulated in f32", leastRate, mostRate},
      {"sustained", both, percent, AT(figures.sustainedPercent), "of these rates, that large contractions reach", 1,
       100},
      {"thread_f32_rate", cpu, rate, AT(figures.cpu.thread.f32), "f32 operands, one thread alone", leastRate, mostRate},
      {"thread_bf16_rate", cpu, rate, AT(figures.cpu.thread.bf16), "bf16 operands, one thread alone", leastRate,
       mostRate},
      {"thread_f16_rate", cpu, rate, AT(figures.cpu.thread.f16), "fp16 operands, one thread alone", leastRate,
       mostRate},
      {"thread_fp8_rate", cpu, rate, AT(figures.cpu.thread.fp8), "fp8 operands, one thread alone", leastRate, mostRate},
      {"gemm.", both, none, AT(figures.gemm), "a constant of the model of contractions", 0, 1e18, &nameForm},

      // Bytes read and written.
      {"copy_bandwidth", both, bandwidth, AT(figures.copyBandwidth),
       "bytes read plus bytes written, of data that no cache holds", leastRate, mostRate},
      {"thread_copy_bandwidth", cpu, bandwidth, AT(figures.cpu.threadCopyBandwidth), "the same, one thread alone",
       leastRate, mostRate},
      {"cache_bandwidth", gpu, bandwidth, AT(figures.gpu.cacheBandwidth), "the L2 cache", leastRate, mostRate},
      {"l1_bandwidth", cpu, bandwidth, AT(figures.cpu.l1Bandwidth), "the L1 cache of a core", leastRate, mostRate},
      {"l2_bandwidth", cpu, bandwidth, AT(figures.cpu.l2Bandwidth), "the L2 cache of a core", leastRate, mostRate},
      {"l3_bandwidth", cpu, bandwidth, AT(figures.cpu.l3Bandwidth), "an L3 cache, with all its cores", leastRate,
       mostRate},
      {"host_bandwidth", gpu, bandwidth, AT(figures.gpu.hostBandwidth), "to and from the host, in one direction",
       leastRate, mostRate},

      // Times.
      {"launch", gpu, seconds, AT(figures.gpu.launch), "between the starts of two empty launches", 0, mostTime},
      {"graph_launch", gpu, seconds, AT(figures.gpu.graphLaunch), "the same, in a graph", 0, mostTime},
      {"shortest_kernel", gpu, seconds, AT(figures.gpu.shortestKernel), "the least time of a kernel", 0, mostTime},
      {"barrier.", cpu, seconds, AT(figures.cpu.barriers), "an empty parallel region", 0, mostTime, &threadsForm},
      {"function.", cpu, seconds, AT(figures.cpu.functions), "an element whose operands are in cache, one thread", 0,
       mostTime, &opForm},

      // Between devices, by the class of the link, or by class and collective.
      {"link_bandwidth.", both, bandwidth, AT(figures.linkBandwidths), "of a link, in one direction", leastRate,
       mostRate, &nameForm},
      {"link_latency.", both, seconds, AT(figures.linkLatencies), "of a small message over a link", 0, mostTime,
       &nameForm},
      {"link_devices.", both, none, AT(figures.linkDevices), "of a machine, that share one link", 1, largest,
       &nameForm},
      {"exchange_start", gpu, seconds, AT(figures.gpu.exchangeStart), "of an exchange, beside what its links take", 0,
       mostTime},

      // What the phases decide by.
      {"gelu_epilogues", gpu, none, AT(library.hasGeluEpilogues), "contractions apply GELU and its gradient"},
      {"prefetches_across_pages", cpu, none, AT(prefetchesAcrossPages),
       "the hardware prefetcher, at a constant distance"},
      {"contraction_speeds", cpu, none, AT(speeds), "the throughput table of contractions", 0, 0, &tableForm},
      {"fused_speed_percent", both, percent, AT(fusedSpeedPercent),
       "of the speed of separate GEMMs, that horizontally fused ones must reach", 1, largest},
      {"few_sums", both, none, AT(fewSums), "fewer sums than these are computed by two kernels", 1, largest},
      {"long_sum", both, none, AT(longSum), "if each is of at least so many elements", 1, largest},
      {"least_chunk_rows", both, none, AT(leastChunkRows), "the least rows of a contraction in a chunk", 1, largest},
      {"most_tiled_bytes", cpu, bytes, AT(mostTiledBytes), "the largest operand that a tiled op reads whole", 1,
       largest},
  };
  return fields;
}

#undef AT

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

FieldKey tessera::findDeviceField(StringRef key) {
  for (const DeviceField &field : deviceFields()) {
    if (!field.isMap() && key == field.key) return {&field, ""};
    if (field.isMap() && key.starts_with(field.key)) return {&field, key.drop_front(field.key.size())};
  }
  return {};
}

StringRef tessera::nearestKey(StringRef name, ArrayRef<StringRef> candidates) {
  StringRef best;
  unsigned most = std::max<unsigned>(1, (name.size() + 1) / 3), bestDistance = most + 1;
  if (name.size() > 64) return best;
  for (StringRef candidate : candidates) {
    unsigned distance = name.edit_distance_insensitive(candidate, /*AllowReplacements=*/true, bestDistance);
    if (distance < bestDistance) best = candidate, bestDistance = distance;
  }
  return best;
}

StringRef tessera::nameOf(Target::Kind kind) { return kind == Target::Kind::Gpu ? "a GPU" : "a CPU"; }

/// For a key that no field has.
static std::string unknownKey(StringRef key, Target::Kind kind) {
  SmallVector<StringRef> keys{"name", "kind", "base"};
  for (const DeviceField &field : deviceFields())
    if (!field.kind || field.kind == kind) keys.push_back(field.key);
  StringRef nearest = nearestKey(key, keys);
  if (nearest.empty()) return "is not a field of a device";
  std::string rest = nearest.ends_with(".") ? "NAME" : "";
  return "is not a field of a device; did you mean `" + nearest.str() + rest + "`?";
}

std::string tessera::checkKey(StringRef key, Target::Kind kind) {
  FieldKey found = findDeviceField(key);
  if (!found.field) return unknownKey(key, kind);
  const DeviceField &field = *found.field;
  if (field.kind && field.kind != kind)
    return ("is a field of " + nameOf(*field.kind) + ", and this describes " + nameOf(kind)).str();
  if (!field.isMap() || (found.entry.size() <= 64 && field.form->accepts(found.entry))) return "";
  auto ops = llvm::map_to_vector(computingOps(), [](const ComputingOp &op) { return op.name; });
  StringRef nearest = field.form == &opForm ? nearestKey(found.entry, ops) : "";
  std::string advice = nearest.empty() ? "" : "; did you mean `" + (field.key + nearest).str() + "`?";
  return ("needs after `" + field.key + "` " + field.form->expected).str() + advice;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
template <typename... Ts> struct Cases : Ts... {
  using Ts::operator()...;
};
template <typename... Ts> Cases(Ts...) -> Cases<Ts...>;

template <typename T> using Place = T &(*)(Target &);
} // namespace

size_t tessera::typeOf(const DeviceField &field) {
  return std::visit(Cases{[](Place<int64_t>) { return DeviceValue(int64_t(0)).index(); },
                          [](Place<std::optional<int64_t>>) { return DeviceValue(int64_t(0)).index(); },
                          [](Place<std::optional<double>>) { return DeviceValue(0.0).index(); },
                          [](Place<FigureMap>) { return DeviceValue(0.0).index(); },
                          [](Place<bool>) { return DeviceValue(false).index(); },
                          [](Place<std::string>) { return DeviceValue(std::string()).index(); },
                          [](Place<SpeedTable>) { return DeviceValue(std::string()).index(); }},
                    field.place);
}

/// A bound for a message. Large powers of two are named so.
static std::string boundText(const DeviceField &field, double bound) {
  if (typeOf(field) != DeviceValue(int64_t(0)).index()) return formatReal(bound, field.unit);
  if (field.unit != DeviceUnit::Bytes && bound == largest) return field.unit == DeviceUnit::None ? "2^40" : "2^40 %";
  return formatWhole(static_cast<int64_t>(bound), field.unit);
}

std::string tessera::rangeOf(const DeviceField &field) {
  size_t type = typeOf(field);
  if (type == DeviceValue(false).index()) return "`yes` or `no`";
  if (type == DeviceValue(std::string()).index()) return field.form->expected.str();
  return "from " + boundText(field, field.least) + " to " + boundText(field, field.most);
}

static std::string checkNumber(const DeviceField &field, double value) {
  return value >= field.least && value <= field.most ? "" : "expected " + rangeOf(field);
}

std::string tessera::checkValue(const DeviceField &field, const DeviceValue &value) {
  return std::visit(Cases{[](bool) { return std::string(); },
                          [&](int64_t number) { return checkNumber(field, static_cast<double>(number)); },
                          [&](double number) { return checkNumber(field, number); },
                          [&](const std::string &text) {
                            return field.form->accepts(text) ? std::string() : "expected " + rangeOf(field);
                          }},
                    value);
}

/// The value of the field's type that a text is.
static std::optional<DeviceValue> readValue(const DeviceField &field, StringRef text, TextProblem &problem) {
  size_t type = typeOf(field);
  if (type == DeviceValue(int64_t(0)).index()) return parseWhole(text, field.unit, problem);
  if (type == DeviceValue(0.0).index()) return parseReal(text, field.unit, problem);
  if (type == DeviceValue(std::string()).index()) return text.str();
  if (text == "yes" || text == "no") return text == "yes";
  problem = {0, "expected " + rangeOf(field) + ", got `" + text.str() + "`"};
  return std::nullopt;
}

std::optional<DeviceValue> tessera::parseValue(const DeviceField &field, StringRef text, TextProblem &problem) {
  std::optional<DeviceValue> value = readValue(field, text, problem);
  if (!value) return std::nullopt;
  std::string wrong = checkValue(field, *value);
  if (wrong.empty()) return value;
  problem = {0, wrong + ", got `" + text.str() + "`"};
  return std::nullopt;
}

std::string tessera::formatValue(const DeviceField &field, const DeviceValue &value) {
  return std::visit(Cases{[](bool flag) { return std::string(flag ? "yes" : "no"); },
                          [&](int64_t number) { return formatWhole(number, field.unit); },
                          [&](double number) { return formatReal(number, field.unit); },
                          [](const std::string &text) { return text; }},
                    value);
}

void tessera::assign(Target &target, FieldKey key, const DeviceValue &value) {
  std::visit(Cases{[&](Place<int64_t> at) { at(target) = std::get<int64_t>(value); },
                   [&](Place<std::optional<int64_t>> at) { at(target) = std::get<int64_t>(value); },
                   [&](Place<std::optional<double>> at) { at(target) = std::get<double>(value); },
                   [&](Place<FigureMap> at) { at(target)[key.entry.str()] = std::get<double>(value); },
                   [&](Place<bool> at) { at(target) = std::get<bool>(value); },
                   [&](Place<std::string> at) { at(target) = std::get<std::string>(value); },
                   [&](Place<SpeedTable> at) {
                     for (auto [table, name] : tableNames)
                       if (name == std::get<std::string>(value)) at(target) = table;
                   }},
             key.field->place);
}

/// The value of a field that is no map; none if it is not known.
static std::optional<DeviceValue> valueOf(const DeviceField &field, Target &target) {
  using Known = std::optional<DeviceValue>;
  return std::visit(
      Cases{[&](Place<int64_t> at) { return Known(at(target)); },
            [&](Place<std::optional<int64_t>> at) { return at(target) ? Known(*at(target)) : std::nullopt; },
            [&](Place<std::optional<double>> at) { return at(target) ? Known(*at(target)) : std::nullopt; },
            [&](Place<FigureMap>) { return Known(); }, [&](Place<bool> at) { return Known(at(target)); },
            [&](Place<std::string> at) { return at(target).empty() ? std::nullopt : Known(at(target)); },
            [&](Place<SpeedTable> at) {
              const auto *named = llvm::find_if(tableNames, [&](auto &one) { return one.first == at(target); });
              return Known(named->second.str());
            }},
      field.place);
}

std::vector<std::pair<std::string, DeviceValue>> tessera::knownFields(const Target &described) {
  std::vector<std::pair<std::string, DeviceValue>> known;
  Target target = described; // places are not constant
  for (const DeviceField &field : deviceFields()) {
    if (field.kind && field.kind != target.kind) continue;
    if (const auto *map = std::get_if<Place<FigureMap>>(&field.place))
      for (auto &[entry, value] : (*map)(target)) known.emplace_back(field.key.str() + entry, value);
    else if (std::optional<DeviceValue> value = valueOf(field, target))
      known.emplace_back(field.key.str(), *value);
  }
  return known;
}

StringRef tessera::missingField(const Target &described) {
  Target target = described;
  for (const DeviceField &field : deviceFields()) {
    if (!field.isRequired || field.kind != target.kind) continue;
    std::optional<DeviceValue> value = valueOf(field, target);
    if (!value || !checkValue(field, *value).empty()) return field.key;
  }
  return "";
}
