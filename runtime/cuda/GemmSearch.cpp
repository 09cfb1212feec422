//===- GemmSearch.cpp - measures which algorithm of cuBLASLt is fastest ---===//

#include "runtime/cuda/GemmSearch.h"

#include "runtime/base/Error.h"
#include "runtime/base/Json.h"
#include "runtime/base/ReplacementFile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tessera::runtime::cuda {

namespace {
/// Algorithms that are measured for a contraction.
constexpr int mostAlgorithms = 8;
/// Measurements of each, of which the fastest counts.
constexpr int measurements = 3;
/// Runs of a measurement: a single short one would be measured together with the events and the launch.
constexpr int mostRuns = 10;
/// A measurement of this duration in milliseconds needs no more runs.
constexpr double longEnough = 2;
/// The relative gain for which an algorithm replaces the library's first suggestion: measured times vary.
constexpr double leastGain = 0.02;
/// Bound of the time that the search adds to the first start of a program.
constexpr std::chrono::seconds longestSearch(20);

using Clock = std::chrono::steady_clock;

std::string toText(const MatmulAlgorithm &algorithm) {
  std::string text;
  for (uint64_t word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<MatmulAlgorithm> fromText(const std::string &text) {
  MatmulAlgorithm algorithm{};
  if (text.size() != 16 * std::size(algorithm.data)) return std::nullopt;
  if (text.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  for (size_t i = 0; i < std::size(algorithm.data); ++i)
    algorithm.data[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  return algorithm;
}

const char *epilogueName(const GemmSpec &d) {
  if (d.epilogue == GemmEpilogue::None) return "";
  if (d.epilogue == GemmEpilogue::GeluGrad) return "; gradient of gelu";
  return d.hasAux ? "; gelu and sum" : "; gelu";
}

/// Memory for the operands of a contraction, at exactly the given alignment.
class Scratch {
public:
  Scratch(const GemmSpec &d, const GemmAlignment &alignment, Stream stream) {
    auto allocate = [&](DevicePointer &operand, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                        ElementType type, uint32_t multiple) {
      int64_t last = 0;
      for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * std::abs(strides[i]);
      size_t bytes = static_cast<size_t>((last + 1) * bytesOf(type)) + 2 * multiple;
      DevicePointer block = 0;
      if (driver.memAlloc(&block, bytes) != 0) return isComplete = false;
      blocks.push_back(block);
      // A small positive value in every type.
      if (driver.memsetD8Async(block, 0x3c, bytes, stream) != 0) return isComplete = false;
      operand = block + multiple;
      return true;
    };
    bool isAllocated = allocate(operands.a, d.a.dims, d.a.strides, d.a.type, alignment[0]) &&
                       allocate(operands.b, d.b.dims, d.b.strides, d.b.type, alignment[1]) &&
                       allocate(operands.c, d.c.dims, d.c.strides, d.c.type, alignment[3]) &&
                       (!d.hasAux || allocate(operands.aux, d.c.dims, d.c.strides, d.c.type, alignment[4]));
    if (isAllocated && d.bias) {
      std::vector<int64_t> dims(d.c.dims.end() - static_cast<int64_t>(d.bias->size()), d.c.dims.end());
      allocate(operands.bias, dims, *d.bias, d.biasType, alignment[2]);
    }
  }
  ~Scratch() {
    for (DevicePointer block : blocks) driver.memFree(block);
  }
  Scratch(const Scratch &) = delete;

  bool isComplete = true;
  GemmAddresses operands;

private:
  const Driver &driver = Driver::get();
  std::vector<DevicePointer> blocks;
};

class Timer {
public:
  explicit Timer(Stream stream) : stream(stream) {
    for (Event *event : {&start, &end}) driver.check(driver.eventCreate(event, 0), "an event");
  }
  ~Timer() {
    for (Event event : {start, end}) driver.eventDestroy(event);
  }
  Timer(const Timer &) = delete;

  /// The time of the work of `run` on the device, in milliseconds.
  template <typename Run> double time(Run run) {
    driver.check(driver.eventRecord(start, stream), "an event");
    run();
    driver.check(driver.eventRecord(end, stream), "an event");
    driver.check(driver.streamSynchronize(stream), "a contraction");
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, start, end), "an event");
    return milliseconds;
  }

private:
  const Driver &driver = Driver::get();
  Stream stream;
  Event start = nullptr, end = nullptr;
};

/// The time of a run in milliseconds, the shortest of some measurements; none if cuBLASLt does not run the algorithm
/// after all.
std::optional<double> measure(const CublasGemm &gemm, const GemmAddresses &operands, DevicePointer workspace,
                              Stream stream) {
  Timer timer(stream);
  auto timeOf = [&](int runs) {
    return timer.time([&] {
      for (int i = 0; i < runs; ++i) gemm.run(operands, workspace, stream);
    });
  };
  try {
    gemm.run(operands, workspace, stream); // loads the algorithm's code
  } catch (const Error &) {
    return std::nullopt;
  }
  int runs = static_cast<int>(std::clamp(std::ceil(longEnough / timeOf(1)), 1.0, static_cast<double>(mostRuns)));
  double fastest = HUGE_VAL;
  for (int i = 0; i < measurements; ++i) fastest = std::min(fastest, timeOf(runs) / runs);
  return fastest;
}

/// The fastest of the suggested algorithms; none if there is no memory to measure them.
std::optional<MatmulAlgorithm> fastest(CublasGemm &gemm, const GemmAlignment &alignment, DevicePointer workspace,
                                       Stream stream) {
  std::vector<MatmulAlgorithm> algorithms = gemm.suggest(alignment, mostAlgorithms);
  if (algorithms.size() == 1) return algorithms.front();
  Scratch scratch(gemm.description(), alignment, stream);
  if (!scratch.isComplete) return std::nullopt;
  gemm.prepare(scratch.operands);
  std::optional<MatmulAlgorithm> best;
  double bestTime = HUGE_VAL;
  for (const MatmulAlgorithm &algorithm : algorithms) {
    if (!gemm.choose(alignment, algorithm)) continue;
    std::optional<double> time = measure(gemm, scratch.operands, workspace, stream);
    if (!time || (best && *time > bestTime * (1 - leastGain))) continue;
    best = algorithm, bestTime = *time;
  }
  return best;
}
} // namespace

GemmSearch::GemmSearch(ChoiceRecords records, const std::string &device) : records(std::move(records)) {
  platform = fmt::format("{}, cuBLASLt {}", device, CublasLt::get().getVersion());
}

/// Everything on which cuBLASLt's suggestions depend.
std::string GemmSearch::keyOf(const CublasGemm &gemm, const GemmAlignment &alignment) const {
  const GemmSpec &d = gemm.description();
  auto list = [](const std::vector<int64_t> &values) { return fmt::format("{}", fmt::join(values, " ")); };
  auto number = [](ElementType type) { return static_cast<int>(type); };
  // A file of a program that added the parts of a sum in the result's type has other keys.
  const char *parts = d.c.type == ElementType::F32 ? "" : "; parts added in f32";
  return fmt::format(
      "{}: types {} {} {}{}; a {} by {}; b {} by {}; c {} by {}; bias {} of {}; added {}{}{}; aligned {}", platform,
      number(d.a.type), number(d.b.type), number(d.c.type), d.tf32 ? " tf32" : "", list(d.a.dims), list(d.a.strides),
      list(d.b.dims), list(d.b.strides), list(d.c.dims), list(d.c.strides), d.bias ? list(*d.bias) : "none",
      number(d.biasType), d.accumulate, epilogueName(d), parts, fmt::join(alignment, " "));
}

/// The algorithms in a file. One that cannot be read or parsed has none.
static std::map<std::string, std::string> readFile(const std::string &file) {
  std::map<std::string, std::string> found;
  std::ifstream in(file);
  if (file.empty() || !in) return found;
  std::stringstream text;
  text << in.rdbuf();
  Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("algorithms") || !json["algorithms"].is_object()) return found;
  for (auto &[key, value] : json["algorithms"].items())
    if (value.is_string()) found[key] = value.get<std::string>();
  return found;
}

static bool writeFile(const std::string &file, const char *about,
                      const std::map<std::string, std::string> &algorithms) {
  Json json;
  json["about"] = about;
  json["algorithms"] = algorithms;
  std::string text = json.dump(1) + "\n";
  try {
    replaceFile(file, [&](DurableFile &out) {
      out.append(text.data(), text.size());
      out.commit();
    });
  } catch (const Error &) {
    return false;
  }
  return true;
}

/// The program's own choices come first: it computes the same bits as before.
GemmSearch::Algorithms GemmSearch::recorded(const std::vector<CublasGemm> &gemms, const GemmUses &uses) const {
  Algorithms known = readFile(records.program), shared = readFile(records.shared);
  for (const auto &[number, alignment] : uses)
    if (auto it = shared.find(keyOf(gemms[number], alignment)); it != shared.end()) known.insert(*it);
  return known;
}

/// Adds to the file of all programs what it lacks: what is there has precedence.
static bool addToShared(const std::string &file, const std::map<std::string, std::string> &algorithms) {
  std::map<std::string, std::string> all = readFile(file);
  size_t before = all.size();
  all.insert(algorithms.begin(), algorithms.end());
  std::error_code ignored; // then the file cannot be written
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  return all.size() == before || writeFile(file, "algorithms of cuBLASLt that were fastest; it may be deleted", all);
}

bool GemmSearch::write(const Algorithms &algorithms) const {
  constexpr const char *about =
      "algorithms of cuBLASLt that were fastest for the program beside this file; it may be deleted";
  if (!records.program.empty() && !writeFile(records.program, about, algorithms)) return false;
  bool isShared = !records.shared.empty() && addToShared(records.shared, algorithms);
  return isShared || !records.program.empty();
}

bool GemmSearch::choose(std::vector<CublasGemm> &gemms, const GemmUses::value_type &use,
                        const Algorithms &known) const {
  auto it = known.find(keyOf(gemms[use.first], use.second));
  std::optional<MatmulAlgorithm> algorithm = it == known.end() ? std::nullopt : fromText(it->second);
  return algorithm && gemms[use.first].choose(use.second, *algorithm);
}

/// The texts have no fixed length: it comes first.
static std::string broadcast(HostCommunicator &ranks, std::string text) {
  constexpr const char *what = "algorithms of contractions";
  auto length = static_cast<int64_t>(text.size());
  ranks.broadcast(what, &length, sizeof length, 0);
  text.resize(static_cast<size_t>(length));
  ranks.broadcast(what, text.data(), text.size(), 0);
  return text;
}

void GemmSearch::takeFromFirst(std::vector<CublasGemm> &gemms, const GemmUses &uses, HostCommunicator &ranks) const {
  Json own = Algorithms();
  for (const auto &[number, alignment] : uses)
    if (std::optional<MatmulAlgorithm> algorithm = gemms[number].chosen(alignment))
      own[keyOf(gemms[number], alignment)] = toText(*algorithm);
  auto known = Json::parse(broadcast(ranks, own.dump())).get<Algorithms>();
  for (const auto &use : uses) {
    gemms[use.first].forget(use.second);
    choose(gemms, use, known);
  }
}

int GemmSearch::chooseFor(std::vector<CublasGemm> &gemms, const GemmUses &uses, DevicePointer workspace,
                          Stream stream) {
  if (records.program.empty() && records.shared.empty()) return 0;
  Algorithms known = recorded(gemms, uses), found;
  GemmUses missing;
  for (const auto &use : uses)
    if (!choose(gemms, use, known)) missing.insert(use);
  if (missing.empty() && (records.program.empty() || known == readFile(records.program))) return 0;
  // A choice that cannot be recorded might differ next time, and with it the bits of the results.
  if (!write(known) || missing.empty()) return 0;
  Clock::time_point start = Clock::now();
  std::map<GemmUses::value_type, std::optional<MatmulAlgorithm>> before; // those have run
  for (const auto &use : missing) {
    auto &[number, alignment] = use;
    CublasGemm &gemm = gemms[number];
    std::optional<MatmulAlgorithm> best, &earlier = before[use] = gemm.chosen(alignment);
    if (Clock::now() - start < longestSearch) best = fastest(gemm, alignment, workspace, stream);
    if (!best) best = earlier ? *earlier : gemm.suggest(alignment, 1).front();
    found[keyOf(gemm, alignment)] = toText(*best);
  }
  // Another process may have finished first: its choices have precedence.
  known = recorded(gemms, uses);
  known.merge(found);
  bool isRecorded = write(known);
  for (const auto &use : missing) {
    if (isRecorded && choose(gemms, use, known)) continue;
    CublasGemm &gemm = gemms[use.first];
    gemm.forget(use.second);
    if (const std::optional<MatmulAlgorithm> &earlier = before[use]) gemm.choose(use.second, *earlier);
  }
  return static_cast<int>(missing.size());
}

} // namespace tessera::runtime::cuda
