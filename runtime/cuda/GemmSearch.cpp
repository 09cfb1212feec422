//===- GemmSearch.cpp - which of cuBLASLt's algorithms is fastest here --------===//

#include "runtime/cuda/GemmSearch.h"

#include "runtime/Error.h"
#include "runtime/Json.h"
#include "runtime/checkpoint/DurableFile.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

namespace tessera::runtime::cuda {

namespace {
/// Algorithms that are measured for a contraction.
constexpr int mostAlgorithms = 8;
/// Timed runs of each, of which the fastest counts.
constexpr int timedRuns = 4;
/// What another algorithm must save to be taken instead of the library's favourite: times vary by themselves.
constexpr double leastGain = 0.02;
/// A program starts so much later, at most, the first time.
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

/// Memory for the operands of a contraction, as far from 256 bytes as an alignment says.
class Scratch {
public:
  Scratch(const GemmDescription &d, const ProductAlignment &alignment, Stream stream) {
    auto take = [&](DevicePointer &operand, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                    GemmType type, uint32_t multiple) {
      int64_t last = 0;
      for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * std::abs(strides[i]);
      size_t bytes = static_cast<size_t>((last + 1) * bytesOf(type)) + 2 * multiple;
      DevicePointer block = 0;
      if (driver.memAlloc(&block, bytes) != 0) return isWhole = false;
      blocks.push_back(block);
      // A small positive number in every type.
      if (driver.memsetD8Async(block, 0x3c, bytes, stream) != 0) return isWhole = false;
      operand = block + multiple;
      return true;
    };
    bool taken = take(operands.a, d.dimsA, d.stridesA, d.type, alignment[0]) &&
                 take(operands.b, d.dimsB, d.stridesB, d.typeB.value_or(d.type), alignment[1]) &&
                 take(operands.c, d.dimsC, d.stridesC, d.resultType, alignment[3]);
    if (taken && d.bias) {
      std::vector<int64_t> dims(d.dimsC.end() - static_cast<int64_t>(d.bias->size()), d.dimsC.end());
      take(operands.bias, dims, *d.bias, d.biasType, alignment[2]);
    }
  }
  ~Scratch() {
    for (DevicePointer block : blocks) driver.memFree(block);
  }
  Scratch(const Scratch &) = delete;

  bool isWhole = true;
  ProductOperands operands;

private:
  const Driver &driver = Driver::get();
  std::vector<DevicePointer> blocks;
};

/// Milliseconds of one run, the fastest of some.
double measure(const Product &product, const ProductOperands &operands, DevicePointer workspace, Stream stream) {
  const Driver &driver = Driver::get();
  Event start = nullptr, end = nullptr;
  driver.check(driver.eventCreate(&start, 0), "an event");
  driver.check(driver.eventCreate(&end, 0), "an event");
  float fastest = HUGE_VALF;
  for (int i = 0; i <= timedRuns; ++i) {
    driver.check(driver.eventRecord(start, stream), "an event");
    product.run(operands, workspace, stream);
    driver.check(driver.eventRecord(end, stream), "an event");
    driver.check(driver.streamSynchronize(stream), "a contraction");
    float milliseconds = 0;
    driver.check(driver.eventElapsedTime(&milliseconds, start, end), "an event");
    if (i > 0) fastest = std::min(fastest, milliseconds); // the first one warms up
  }
  driver.eventDestroy(start);
  driver.eventDestroy(end);
  return fastest;
}

/// The fastest of the algorithms that the library suggests; none where there is no memory to try them.
std::optional<MatmulAlgorithm> fastest(Product &product, const ProductAlignment &alignment, DevicePointer workspace,
                                       Stream stream) {
  std::vector<MatmulAlgorithm> algorithms = product.suggest(alignment, mostAlgorithms);
  if (algorithms.size() == 1) return algorithms.front();
  Scratch scratch(product.description(), alignment, stream);
  if (!scratch.isWhole) return std::nullopt;
  std::optional<MatmulAlgorithm> best;
  double bestTime = HUGE_VAL;
  for (const MatmulAlgorithm &algorithm : algorithms) {
    if (!product.choose(alignment, algorithm)) continue;
    double time = measure(product, scratch.operands, workspace, stream);
    if (best && time > bestTime * (1 - leastGain)) continue;
    best = algorithm, bestTime = time;
  }
  return best;
}
} // namespace

GemmSearch::GemmSearch(std::string file, std::string device) : file(std::move(file)) {
  platform = fmt::format("{}, cuBLASLt {}", device, CublasLt::get().getVersion());
  read();
}

/// Everything that the library decides by.
std::string GemmSearch::keyOf(const Product &product, const ProductAlignment &alignment) const {
  const GemmDescription &d = product.description();
  auto list = [](const std::vector<int64_t> &numbers) { return fmt::format("{}", fmt::join(numbers, " ")); };
  auto number = [](GemmType type) { return static_cast<int>(type); };
  return fmt::format("{}: types {} {} {}{}; a {} by {}; b {} by {}; c {} by {}; bias {} of {}; added {}; aligned {}",
                     platform, number(d.type), number(d.typeB.value_or(d.type)), number(d.resultType),
                     d.tf32 ? " tf32" : "", list(d.dimsA), list(d.stridesA), list(d.dimsB), list(d.stridesB),
                     list(d.dimsC), list(d.stridesC), d.bias ? list(*d.bias) : "none", number(d.biasType), d.accumulate,
                     fmt::join(alignment, " "));
}

/// A file that cannot be read, or holds something else, is as good as none: it is written again.
void GemmSearch::read() {
  std::ifstream in(file);
  if (file.empty() || !in) return;
  std::stringstream text;
  text << in.rdbuf();
  Json json = Json::parse(text.str(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("algorithms") || !json["algorithms"].is_object()) return;
  for (auto &[key, value] : json["algorithms"].items())
    if (value.is_string()) remembered[key] = value.get<std::string>();
}

bool GemmSearch::write() const {
  Json json;
  json["about"] = "algorithms of cuBLASLt that were fastest for the program beside this file; it may be deleted";
  json["algorithms"] = remembered;
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

int GemmSearch::chooseFor(std::vector<Product> &products, const ProductUses &uses, DevicePointer workspace,
                          Stream stream) {
  if (file.empty()) return 0;
  Clock::time_point start = Clock::now();
  std::vector<std::pair<size_t, ProductAlignment>> measured;
  std::map<std::string, std::string> before = remembered;
  for (const auto &[number, alignment] : uses) {
    Product &product = products[number];
    std::string key = keyOf(product, alignment);
    if (auto it = remembered.find(key); it != remembered.end())
      if (std::optional<MatmulAlgorithm> known = fromText(it->second); known && product.choose(alignment, *known))
        continue;
    if (Clock::now() - start > longestSearch) continue;
    measured.emplace_back(number, alignment);
    std::optional<MatmulAlgorithm> best = fastest(product, alignment, workspace, stream);
    if (best && product.choose(alignment, *best))
      remembered[key] = toText(*best);
    else
      product.forget(alignment);
  }
  if (measured.empty()) return 0;
  if (write()) return static_cast<int>(measured.size());
  // What is not remembered would be another choice, and other bits, the next time.
  remembered = std::move(before);
  for (auto &[number, alignment] : measured) products[number].forget(alignment);
  return 0;
}

} // namespace tessera::runtime::cuda
