//===- CostModel.cpp - the time of a call on a device ---------------------===//

#include "passes/cost/CostModel.h"
#include "ir/program/ComputingOps.h"
#include "ir/program/DeviceFields.h"
#include <cmath>

using namespace mlir;
using namespace tessera;

/// A copy reads a line, reads the line that it writes, and writes that. So three times its bytes move, and the figure
/// counts two.
static constexpr double movedByCopies = 1.5;

StringRef tessera::stringify(CostSource source) {
  switch (source) {
  case CostSource::Assumed:
    return "assumed";
  case CostSource::DataSheet:
    return "data sheet";
  case CostSource::Calibrated:
    return "calibrated";
  }
  llvm_unreachable("no such source");
}

CostModel::CostModel(const Target &target, int threads)
    : isGpu(target.isGpu()), threads(threads), inside(insideClass(target)) {
  for (const auto &[key, value] : knownFields(target)) {
    if (const auto *whole = std::get_if<int64_t>(&value)) figures[key] = static_cast<double>(*whole);
    if (const auto *real = std::get_if<double>(&value)) figures[key] = *real;
  }
  if (target.figures.source == "calibrated") source = CostSource::Calibrated;
  if (target.figures.source == "data sheet") source = CostSource::DataSheet;
}

/// What a run does between two steps, in seconds: it took 8 microseconds, with one loss and rows of two elements.
static constexpr double betweenSteps = 1e-5;
/// How well the time of a call is known: profiles read the clock twice for each, which takes 50 nanoseconds.
static constexpr double resolution = 1e-7;
/// No range begins below this part of the predicted time.
static constexpr double leastPart = 0.1;

/// By which figures that are assumed may be wrong.
static constexpr double assumedUncertainty = 3;

double CostModel::leastOf(double seconds, double calls, double assumed) const {
  double least = (seconds - assumed) / uncertainty() + assumed / assumedUncertainty;
  return std::max(least - calls * resolution, leastPart * seconds);
}

double CostModel::mostOf(double seconds, double assumed) const {
  return (seconds - assumed) * uncertainty() + assumed * assumedUncertainty + betweenSteps;
}

double CostModel::uncertainty() const {
  switch (source) {
  case CostSource::Assumed:
    return assumedUncertainty;
  case CostSource::DataSheet:
    return 1.6;
  case CostSource::Calibrated:
    return 1.12;
  }
  llvm_unreachable("no such source");
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

double CostModel::get(StringRef key) const {
  if (used) used->insert(key.str());
  auto found = figures.find(key);
  return found == figures.end() ? defaultOf(key) : found->second;
}

std::set<std::string> CostModel::figuresOf(const CallWork &work) const {
  std::set<std::string> keys;
  used = &keys;
  secondsOf(work);
  used = nullptr;
  return keys;
}

/// What ranks reach through the memory of a machine, or GPUs without a link of their own; between machines 10 Gb/s, or
/// 100 Gb/s for a GPU.
static double bandwidthOf(StringRef linkClass, bool isGpu) {
  bool isNetwork = linkClass == networkClass;
  return isGpu ? (isNetwork ? 12.5e9 : 25e9) : (isNetwork ? 1.25e9 : 5e9);
}

/// Of a message. For GPUs those that NCCL assumes for its rings (`hwLat` of protocol LL, src/graph/tuning.cc).
static double latencyOf(StringRef linkClass, bool isGpu) {
  if (linkClass == networkClass) return isGpu ? 2.7e-6 : 30e-6;
  if (!isGpu) return 5e-6;
  return linkClass == "nvlink" ? 0.6e-6 : 1e-6;
}

/// What a processor or a GPU of these years has. Rates of a CPU are those of a core with 256-bit vectors at 3 GHz.
double CostModel::defaultOf(StringRef key) const {
  struct Default {
    StringLiteral key;
    double onCpu, onGpu;
  };
  static constexpr Default defaults[] = {
      {"l2_cache", 1 << 20, 0},      {"l3_cache", 32 << 20, 0},          {"l2_bandwidth", 150e9, 0},
      {"thread_f32_rate", 100e9, 0}, {"thread_copy_bandwidth", 12e9, 0}, {"copy_bandwidth", 25e9, 1e12},
      {"graph_launch", 0, 1.2e-6},   {"shortest_kernel", 0, 2e-6},       {"sustained", 100, 75},
      {"cache_bytes", 0, 40 << 20},  {"multiprocessors", 0, 100},        {"exchange_start", 0, 6.6e-6}, // NCCL: baseLat
  };
  for (const Default &entry : defaults)
    if (entry.key == key) return isGpu ? entry.onGpu : entry.onCpu;
  if (key == "cores" || key == "l3_cores") return threads;
  if (key == "l3_bandwidth") return 50e9 * get("l3_cores");
  if (key == "cache_bandwidth") return 3 * get("copy_bandwidth");
  // Rates of types follow from others.
  if (key == "f32_rate") return isGpu ? 20e12 : get("thread_f32_rate") * get("cores");
  if (key == "tf32_rate") return get("f32_rate");
  if (key == "bf16_rate") return isGpu ? get("tf32_rate") * 2 : get("f32_rate") * 1.5;
  if (key == "f16_rate") return isGpu ? get("bf16_rate") : get("f32_rate");
  if (key == "fp8_rate") return get("bf16_rate");
  if (key.consume_front("barrier.")) return key == "1" ? 50e-9 : 2e-6; // one thread has nothing to wait for
  if (key.consume_front("function.")) {
    const ComputingOp *op = findComputingOp(key);
    return op && op->isApproximated ? 150e-12 : 20e-12;
  }
  if (key.consume_front("link_bandwidth.")) return bandwidthOf(key, isGpu);
  if (key.consume_front("link_latency.")) return latencyOf(key, isGpu);
  bool isTiled = key.starts_with("gemm.tiled.");
  if (key.ends_with(".speed")) return isTiled && isGpu ? 0.4 : 1;
  if (isGpu) return 0;
  if (key.ends_with(".m")) return isTiled ? 60 : 30;
  if (key.ends_with(".n")) return isTiled ? 10 : 15;
  if (key.ends_with(".k")) return isTiled ? 40 : 8;
  llvm_unreachable("no such figure");
}

double CostModel::shareOfCores(StringRef one, StringRef all, int sharing) const {
  double cores = get("cores");
  if (sharing >= cores) return 1;
  auto single = figures.find(one);
  if (single == figures.end()) return sharing / cores;
  double loss = 1 - get(all) / (cores * single->second); // of a core while all are busy
  double together = sharing * single->second * (1 - loss * (sharing - 1) / (cores - 1));
  return std::clamp(together / get(all), 1 / cores, 1.0);
}

SmallVector<int64_t, 4> CostModel::cacheBytes() const {
  if (isGpu) return {static_cast<int64_t>(get("cache_bytes"))};
  double groups = std::ceil(threads / get("l3_cores")), l2 = threads * get("l2_cache");
  // An L3 cache that is smaller than the L2 caches holds what these evict.
  return {static_cast<int64_t>(l2), static_cast<int64_t>(std::max(l2, groups * get("l3_cache")))};
}

/// "f32", "bf16", "f16" or "fp8".
static StringRef rateName(ElementType type) { return isFp8(type) ? "fp8" : elementTypeName(type); }

std::string CostModel::rateKey(ElementType type, bool tf32) const {
  StringRef name = tf32 && type == ElementType::F32 && isGpu ? "tf32" : rateName(type);
  return (name + "_rate").str();
}

double CostModel::peakRate(ElementType type, bool tf32) const { return peakRate(type, tf32, threads); }

double CostModel::peakRate(ElementType type, bool tf32, int sharing) const {
  std::string key = rateKey(type, tf32);
  return get(key) * (isGpu ? 1 : shareOfCores("thread_" + key, key, sharing));
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

double CostModel::startSeconds(CallKind kind, int sharing) const {
  if (isGpu) return get("graph_launch");
  return kind == CallKind::Copy ? 0 : get("barrier." + std::to_string(sharing));
}

double CostModel::opSeconds(const OpCount &count, int sharing) const {
  double elements = static_cast<double>(count.elements);
  if (!isGpu) return elements * get(("function." + count.op).str()) / sharing;
  const ComputingOp *op = findComputingOp(count.op);
  double instructions = op && op->isApproximated ? 8 : 1;
  return elements * instructions / (get("f32_rate") / 2 * get("sustained") / 100);
}

/// c in tiles of several sizes, of which small ones reach a part of the rate, and k in parts whose sums are added
/// afterwards, where c has too few tiles for all processors; the best of them.
double CostModel::gemmSecondsOnGpu(const MultiplyWork &gemm, double rate) const {
  struct Tile {
    int64_t rows, columns;
    double speed;
  };
  static constexpr Tile tiles[] = {{128, 256, 1}, {128, 128, 0.95}, {64, 128, 0.75}, {64, 64, 0.55}};
  constexpr int64_t mostParts = 8, leastDepth = 1024;
  double processors = get("multiprocessors"), best = INFINITY;
  double sumBytes = 2 * 4.0 * gemm.count * double(gemm.m) * double(gemm.n); // f32, written and read
  for (int64_t parts = 1; parts <= mostParts && (parts == 1 || gemm.k / parts >= leastDepth); ++parts) {
    double adding = parts > 1 ? double(parts) * sumBytes / get("cache_bandwidth") : 0;
    for (const Tile &tile : tiles) {
      double ofC = double(llvm::divideCeil(gemm.m, tile.rows) * llvm::divideCeil(gemm.n, tile.columns));
      double operations = 2.0 * double(tile.rows * tile.columns) * double(gemm.k) / double(parts);
      double waves = std::ceil(gemm.count * ofC * double(parts) / processors);
      best = std::min(best, waves * operations / (rate / processors * tile.speed) + adding);
    }
  }
  return best;
}

double CostModel::gemmSeconds(const MultiplyWork &gemm, CallKind kind, int sharing) const {
  StringRef by = gemm.isTiled ? "tiled" : kind == CallKind::Gemm ? "library" : "generated";
  std::string prefix = ("gemm." + by + "." + rateName(gemm.type)).str();
  // Of generated contractions the rate of the type is the speed.
  double speed = by == "generated" ? 1 : get(prefix + ".speed");
  double rate = peakRate(gemm.type, gemm.tf32, sharing) * get("sustained") / 100 * speed;
  if (isGpu && !gemm.isTiled) return gemmSecondsOnGpu(gemm, rate);
  double m = double(gemm.m), n = double(gemm.n), k = double(gemm.k);
  double more = get(prefix + ".k") * m * n + get(prefix + ".m") * n * k + get(prefix + ".n") * m * k;
  return 2 * gemm.count * (m * n * k + more) / rate;
}

double CostModel::computeSeconds(const CallWork &work, int sharing) const {
  double seconds = 0;
  for (const OpCount &count : work.ops) seconds += opSeconds(count, sharing);
  for (const MultiplyWork &gemm : work.gemms) seconds += gemmSeconds(gemm, work.kind, sharing);
  return seconds;
}

double CostModel::memorySeconds(const CallWork &work, int sharing) const {
  if (work.traffic.empty()) return 0;
  if (isGpu) {
    constexpr double reached = 0.88; // of the bandwidth of the memory
    return work.traffic.front() / get("cache_bandwidth") + work.traffic.back() / (reached * get("copy_bandwidth"));
  }
  double seconds = work.traffic.front() / (sharing * get("l2_bandwidth"));
  double ofL3 = get("l3_bandwidth") * sharing / get("l3_cores");
  if (work.traffic.size() > 2) seconds += work.traffic[1] / ofL3;
  double ofMemory =
      movedByCopies * get("copy_bandwidth") * shareOfCores("thread_copy_bandwidth", "copy_bandwidth", sharing);
  return seconds + work.traffic.back() / ofMemory;
}

std::string CostModel::linkKey(StringRef figure, StringRef linkClass, ExchangeKind kind) const {
  std::string ofClass = (figure + linkClass).str(), ofKind = (ofClass + "." + stringifyExchangeKind(kind)).str();
  return figures.contains(ofKind) ? ofKind : ofClass;
}

double CostModel::linkFigure(StringRef figure, StringRef linkClass, ExchangeKind kind) const {
  return get(linkKey(figure, linkClass, kind));
}

ExchangeFigures CostModel::exchangeFigures(ExchangeKind kind, bool usesInside, bool usesNetwork) const {
  ExchangeFigures result;
  auto read = [&](StringRef linkClass) {
    return ExchangeFigures::Link{linkFigure("link_latency.", linkClass, kind),
                                 linkFigure("link_bandwidth.", linkClass, kind)};
  };
  if (isGpu) result.start = get("exchange_start");
  if (usesInside) result.inside = read(inside);
  if (usesNetwork) result.network = read(networkClass);
  return result;
}

/// Links of both classes carry their bytes at the same time; messages follow each other.
double ExchangeFigures::secondsOf(const ExchangeWork &work) const {
  double waiting = static_cast<double>(work.inside.rounds) * inside.latency +
                   static_cast<double>(work.network.rounds) * network.latency;
  return start + waiting + std::max(work.inside.bytes / inside.bandwidth, work.network.bytes / network.bandwidth);
}

SmallVector<std::string, 2> CostModel::assumedLinks(const ExchangeWork &work) const {
  SmallVector<std::string, 2> assumed;
  auto add = [&](const LinkLoad &load, StringRef linkClass) {
    bool isKnown = figures.contains(linkKey("link_bandwidth.", linkClass, work.kind));
    if (load.isUsed() && !isKnown) assumed.push_back(linkClass.str());
  };
  add(work.inside, inside);
  add(work.network, networkClass);
  return assumed;
}

double CostModel::secondsOf(const CallWork &work) const {
  if (const ExchangeWork &exchange = work.exchange; work.kind == CallKind::Exchange)
    return exchangeFigures(exchange.kind, exchange.inside.isUsed(), exchange.network.isUsed()).secondsOf(exchange);
  int sharing = work.isAlone ? 1 : threads;
  double seconds = std::hypot(computeSeconds(work, sharing), memorySeconds(work, sharing));
  if (isGpu) seconds = std::max(seconds, get("shortest_kernel"));
  return startSeconds(work.kind, sharing) + seconds;
}
