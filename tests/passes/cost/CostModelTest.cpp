//===- CostModelTest.cpp - the time of a call on a device -----------------===//

#include "passes/cost/CostModel.h"
#include "ir/program/ComputingOps.h"
#include "ir/program/DeviceFields.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

constexpr ElementType multiplied[] = {ElementType::F32, ElementType::BF16, ElementType::F16, ElementType::E4M3,
                                      ElementType::E5M2};

Target cpu() {
  Target target = *Target::named("x86");
  CpuFigures &figures = target.figures.cpu;
  figures.cores = 16, figures.l3Cores = 8, figures.l2Bytes = 1 << 20, figures.l3Bytes = 32 << 20;
  figures.l3Bandwidth = 200e9;
  target.figures.rates.f32 = 1e12, figures.thread.f32 = 90e9;
  target.figures.copyBandwidth = 60e9, figures.threadCopyBandwidth = 12e9;
  return target;
}

CallWork multiplyWork(int64_t m, int64_t n, int64_t k, CallKind kind = CallKind::Gemm, double count = 1) {
  CallWork work;
  work.kind = kind;
  work.gemms = {{ElementType::F32, count, m, n, k}};
  return work;
}

CallWork elementWork(const char *op, int64_t elements, llvm::SmallVector<double, 4> traffic = {0, 0, 0}) {
  CallWork work;
  work.ops = {{findComputingOp(op)->name, elements}};
  work.traffic = std::move(traffic);
  return work;
}

/// Over links of one class in so many rounds.
CallWork exchangeWork(ExchangeKind kind, int64_t received, bool isNetwork, int64_t rounds = 1) {
  CallWork work;
  work.kind = CallKind::Exchange, work.exchange = {kind, received};
  (isNetwork ? work.exchange.network : work.exchange.inside) = {double(received), rounds};
  return work;
}

/// Calls of all kinds: small and large, bound by arithmetic and by memory.
std::vector<CallWork> manyWorks(size_t levels) {
  std::vector<CallWork> works;
  for (CallKind kind : {CallKind::Kernel, CallKind::Gemm})
    for (ElementType type : multiplied)
      for (bool isTiled : {false, true})
        for (int64_t size : {64, 1000}) {
          CallWork work = multiplyWork(size, 2 * size, 3 * size, kind, 4);
          work.gemms[0].type = type, work.gemms[0].isTiled = isTiled;
          work.traffic.assign(levels, double(size * size));
          works.push_back(work);
        }
  for (const ComputingOp &op : computingOps())
    works.push_back(elementWork(op.name.data(), 1 << 20, llvm::SmallVector<double, 4>(levels, 4e6)));
  CallWork copy;
  copy.kind = CallKind::Copy;
  copy.traffic.assign(levels, 1e7);
  works.push_back(copy);
  for (ExchangeKind exchange : {ExchangeKind::AllGather, ExchangeKind::AllToAll})
    for (bool isNetwork : {false, true}) {
      works.push_back(exchangeWork(exchange, 1 << 20, isNetwork, 3));
      works.back().traffic.assign(levels, 0.0);
    }
  return works;
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

TEST(CostModel, WithoutFiguresThereAreDefaults) {
  for (const char *name : {"x86", "zen", "h100"}) {
    CostModel model(*Target::named(name), 4);
    for (const CallWork &work : manyWorks(model.cacheBytes().size() + 1)) {
      double seconds = model.secondsOf(work);
      EXPECT_TRUE(std::isfinite(seconds) && seconds > 0) << name;
    }
  }
  EXPECT_EQ(CostModel(*Target::named("x86"), 4).getSource(), CostSource::Assumed);
  EXPECT_EQ(CostModel(*Target::named("h100"), 4).getSource(), CostSource::DataSheet);
  Target calibrated = cpu();
  calibrated.figures.source = "calibrated";
  EXPECT_EQ(CostModel(calibrated, 4).getSource(), CostSource::Calibrated);
  EXPECT_LT(CostModel(calibrated, 4).uncertainty(), CostModel(*Target::named("h100"), 4).uncertainty());
  EXPECT_LT(CostModel(*Target::named("h100"), 4).uncertainty(), CostModel(*Target::named("x86"), 4).uncertainty());
  // A run does more than its steps, which only short ones show.
  EXPECT_GT(CostModel(calibrated, 4).mostOf(1e-6), 5e-6);
  EXPECT_LT(CostModel(calibrated, 4).leastOf(1e-6, 6), 0.5e-6);
  EXPECT_GT(CostModel(calibrated, 4).leastOf(1e-6, 1000), 0);
  EXPECT_GT(CostModel(calibrated, 4).leastOf(0.1, 1000) * CostModel(calibrated, 4).uncertainty(), 0.1 * 0.99);
  EXPECT_LT(CostModel(calibrated, 4).mostOf(0.1), 0.1 * CostModel(calibrated, 4).uncertainty() * 1.001);
}

/// Each is a field of a description too, so that it can be written to one and read again.
TEST(CostModel, EveryFigureOfACallIsAFieldAndChangesItsTime) {
  for (const Target &target : {*Target::named("x86"), cpu(), *Target::named("h100")})
    for (int threads : {1, 4, 32}) {
      std::map<std::string, double> largestChange; // by figure, of any call
      CostModel model(target, threads);
      for (const CallWork &work : manyWorks(model.cacheBytes().size() + 1)) {
        double before = model.secondsOf(work);
        for (const std::string &key : model.figuresOf(work)) {
          EXPECT_EQ(checkKey(key, target.kind), "") << key;
          for (double factor : {0.25, 4.0}) {
            CostModel changed = model;
            changed.set(key, factor * model.get(key) + (model.get(key) == 0 ? factor : 0));
            double &change = largestChange[key];
            change = std::max(change, std::abs(changed.secondsOf(work) / before - 1));
          }
        }
      }
      for (const auto &[key, change] : largestChange) {
        // With all cores it does not matter what one reaches, and how many there are. The default of the bandwidth of
        // L3 caches is by core.
        bool mayBeUnused = StringRef(key).starts_with("thread_") || key == "cores" ||
                           (key == "l3_cores" && !target.figures.cpu.l3Bandwidth);
        EXPECT_TRUE(change > 1e-6 || mayBeUnused) << key << " with " << threads << " threads";
      }
    }
}

TEST(CostModel, FiguresOfACallAreThoseOfItsKind) {
  CostModel model(cpu(), 4);
  auto keys = model.figuresOf(elementWork("exp", 100));
  EXPECT_TRUE(keys.count("function.exp") && keys.count("barrier.4") && keys.count("copy_bandwidth"));
  EXPECT_FALSE(keys.count("function.sin") || keys.count("f32_rate") || keys.count("gemm.library.f32.k"));
  keys = model.figuresOf(multiplyWork(10, 10, 10));
  EXPECT_TRUE(keys.count("f32_rate") && keys.count("gemm.library.f32.k"));
  EXPECT_FALSE(keys.count("gemm.generated.f32.k"));
}

TEST(CostModel, SumsOfL2CachesMayExceedAnL3Cache) {
  Target target = cpu();
  target.figures.cpu.l2Bytes = 2 << 20, target.figures.cpu.l3Bytes = 12 << 20;
  auto bytes = CostModel(target, 8).cacheBytes();
  EXPECT_EQ(bytes[0], 16 << 20);
  EXPECT_EQ(bytes[1], 16 << 20);
  bytes = CostModel(cpu(), 12).cacheBytes(); // of two groups of cores
  EXPECT_EQ(bytes[1], 64 << 20);
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

TEST(CostModel, ExchangesTakeTheLatencyOfEachRoundAndTheBandwidthOfTheLink) {
  Target target = *Target::named("h100"); // nvlink 450 GB/s, pcie 64 GB/s, network 50 GB/s
  target.figures.linkLatencies["nvlink"] = 2e-6;
  target.figures.gpu.exchangeStart = 0;
  CostModel model(target, 1);
  EXPECT_DOUBLE_EQ(model.secondsOf(exchangeWork(ExchangeKind::AllGather, 900'000'000, false, 3)), 3 * 2e-6 + 2e-3);
  target.figures.linkLatencies["network"] = 0;
  EXPECT_DOUBLE_EQ(CostModel(target, 1).secondsOf(exchangeWork(ExchangeKind::AllToAll, 50'000'000, true)), 1e-3);
  target.figures.linkBandwidths.erase("nvlink");
  target.figures.linkLatencies["pcie"] = 0;
  EXPECT_DOUBLE_EQ(CostModel(target, 1).secondsOf(exchangeWork(ExchangeKind::AllGather, 64'000'000, false)), 1e-3);
}

TEST(CostModel, MoreWorkTakesLonger) {
  for (const Target &target : {cpu(), *Target::named("x86"), *Target::named("h100")}) {
    CostModel model(target, 4);
    for (const CallWork &work : manyWorks(model.cacheBytes().size() + 1)) {
      double seconds = model.secondsOf(work);
      CallWork more = work;
      for (double &bytes : more.traffic) bytes *= 2;
      EXPECT_GE(model.secondsOf(more), seconds);
      for (OpCount &count : more.ops) count.elements *= 2;
      EXPECT_GE(model.secondsOf(more), seconds);
      for (MultiplyWork &gemm : more.gemms) gemm.count *= 2;
      double doubled = model.secondsOf(more);
      EXPECT_GE(doubled, seconds);
      EXPECT_LE(doubled, 2 * seconds * (1 + 1e-12));
      for (auto size : {&MultiplyWork::m, &MultiplyWork::n, &MultiplyWork::k}) {
        CallWork larger = work;
        for (MultiplyWork &gemm : larger.gemms) gemm.*size *= 2;
        EXPECT_GE(model.secondsOf(larger), seconds);
      }
    }
  }
}

TEST(CostModel, MoreThreadsAreNotSlower) {
  Target busy = cpu(); // four threads already use all of the bandwidth
  busy.figures.cpu.threadCopyBandwidth = 15e9;
  for (const Target &target : {*Target::named("x86"), cpu(), busy})
    for (const CallWork &work : manyWorks(3)) {
      double before = INFINITY;
      for (int threads : {1, 2, 3, 4, 8, 12, 16, 20}) {
        CostModel model(target, threads);
        // Without the start of a parallel region, which takes longer.
        double seconds = model.secondsOf(work) - model.secondsOf(elementWork("mul", 0));
        if (work.kind == CallKind::Copy) seconds = model.secondsOf(work);
        EXPECT_LE(seconds, before * (1 + 1e-12)) << threads << " threads";
        before = seconds;
      }
    }
}

TEST(CostModel, NoCallIsFasterThanTheDevice) {
  for (const Target &target : {cpu(), *Target::named("x86"), *Target::named("h100")})
    for (int threads : {1, 4, 16}) {
      CostModel model(target, threads);
      for (const CallWork &work : manyWorks(model.cacheBytes().size() + 1)) {
        double seconds = model.secondsOf(work);
        double flops = 0, peak = INFINITY;
        for (const MultiplyWork &gemm : work.gemms) {
          flops += 2 * gemm.count * double(gemm.m) * double(gemm.n) * double(gemm.k);
          peak = model.peakRate(gemm.type, gemm.tf32);
        }
        EXPECT_GE(seconds, flops / peak * (1 - 1e-12));
        double most = model.get("copy_bandwidth") * (target.isGpu() ? 1 : 1.5); // the model's bytes are 2/3 of a copy's
        EXPECT_GE(seconds, work.traffic.back() / most * (1 - 1e-12));
      }
    }
}

TEST(CostModel, LargeContractionsApproachTheRate) {
  for (const Target &target : {cpu(), *Target::named("h100")}) {
    CostModel model(target, 16);
    double flops = 2.0 * 8192 * 8192 * 8192;
    double reached = flops / model.secondsOf(multiplyWork(8192, 8192, 8192)) / model.peakRate(ElementType::F32);
    EXPECT_GT(reached, 0.9 * model.get("sustained") / 100);
    EXPECT_LE(reached, model.get("sustained") / 100);
  }
}

TEST(CostModel, CachesAreFasterThanMemory) {
  for (const Target &target : {cpu(), *Target::named("x86"), *Target::named("h100")}) {
    CostModel model(target, 4);
    size_t levels = model.cacheBytes().size() + 1;
    double before = 0;
    for (size_t level = 0; level < levels; ++level) {
      llvm::SmallVector<double, 4> traffic(levels, 0.0);
      traffic[level] = 1e9;
      double seconds = model.secondsOf(elementWork("mul", 1, traffic));
      EXPECT_GT(seconds, before) << level;
      before = seconds;
    }
  }
}

/// Of a CPU with two L3 caches, both deliver.
TEST(CostModel, EveryGroupOfCoresHasItsL3Cache) {
  Target target = cpu();
  CallWork work = elementWork("mul", 0, {0, 4e9, 0});
  EXPECT_NEAR(CostModel(target, 4).secondsOf(work), 4e9 / 100e9, 1e-5);
  EXPECT_NEAR(CostModel(target, 8).secondsOf(work), 4e9 / 200e9, 1e-5);
  EXPECT_NEAR(CostModel(target, 16).secondsOf(work), 4e9 / 400e9, 1e-5);
}

//===----------------------------------------------------------------------===//
// GPUs
//===----------------------------------------------------------------------===//

TEST(CostModel, TilesRunInWavesOnAGpu) {
  CostModel model(*Target::named("h100"), 1);
  auto processors = static_cast<int64_t>(model.get("multiprocessors"));
  // One column of tiles: as many rows of tiles as multiprocessors are one wave, one tile more is another.
  auto secondsOf = [&](int64_t rows) { return model.secondsOf(multiplyWork(rows, 64, 1024)); };
  double start = model.get("graph_launch"), one = secondsOf(processors * 64) - start;
  EXPECT_NEAR((secondsOf(64) - start) / one, 1, 1e-9);
  EXPECT_GT((secondsOf(processors * 64 + 1) - start) / one, 1.2);
  EXPECT_NEAR((secondsOf(processors * 640) - start) / one, 10, 2.5);
}

TEST(CostModel, DeepSumsOfFewTilesAreDividedOnAGpu) {
  CostModel model(*Target::named("h100"), 1);
  auto secondsOf = [&](int64_t rows, int64_t depth) {
    return model.secondsOf(multiplyWork(rows, 64, depth)) - model.get("graph_launch");
  };
  auto processors = static_cast<int64_t>(model.get("multiprocessors"));
  // One tile: at best an eighth of what it takes one multiprocessor, and partial sums are added.
  constexpr int64_t depth = 1 << 16;
  double whole = secondsOf(64, 1024) * depth / 1024;
  EXPECT_GT(secondsOf(64, depth), whole / 8);
  EXPECT_LT(secondsOf(64, depth), whole / 6);
  // Many waves of tiles keep all multiprocessors busy anyway.
  EXPECT_GT(secondsOf(processors * 640, depth), 0.9 * secondsOf(processors * 640, 1024) * depth / 1024);
}

TEST(CostModel, KernelsOfAGpuHaveALeastTime) {
  CostModel model(*Target::named("h100"), 1);
  double least = model.get("graph_launch") + model.get("shortest_kernel");
  EXPECT_EQ(model.secondsOf(elementWork("mul", 1, {4, 4})), least);
  EXPECT_GT(model.secondsOf(elementWork("mul", 1 << 28, {0, 1e9})), 10 * least);
}

TEST(CostModel, Tf32IsFasterThanF32OnAGpuOnly) {
  CostModel gpu(*Target::named("h100"), 1), processor(cpu(), 4);
  EXPECT_GT(gpu.peakRate(ElementType::F32, true), 2 * gpu.peakRate(ElementType::F32));
  EXPECT_EQ(processor.peakRate(ElementType::F32, true), processor.peakRate(ElementType::F32));
}

} // namespace
