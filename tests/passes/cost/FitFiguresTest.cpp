//===- FitFiguresTest.cpp - figures from times of known figures -----------===//

#include "passes/cost/FitFigures.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace tessera;

namespace {

/// The device that the times are of: far from the defaults in everything.
CostModel trueModel() {
  CostModel model(*Target::named("x86"), 2);
  for (auto [key, value] : std::initializer_list<std::pair<const char *, double>>{{"cores", 2},
                                                                                  {"f32_rate", 160e9},
                                                                                  {"copy_bandwidth", 17e9},
                                                                                  {"l2_bandwidth", 90e9},
                                                                                  {"l3_bandwidth", 61e9},
                                                                                  {"barrier.2", 5.5e-6},
                                                                                  {"function.exp", 420e-12},
                                                                                  {"function.mul", 33e-12},
                                                                                  {"function.tanh", 260e-12},
                                                                                  {"gemm.library.f32.m", 80},
                                                                                  {"gemm.library.f32.n", 5},
                                                                                  {"gemm.library.f32.k", 30},
                                                                                  {"gemm.generated.f32.m", 12}})
    model.set(key, value);
  return model;
}

/// What is known before: cores, and the rate and the bandwidth nearly.
CostModel firstModel() {
  CostModel model(*Target::named("x86"), 2);
  model.set("cores", 2), model.set("f32_rate", 150e9), model.set("copy_bandwidth", 20e9);
  return model;
}

class Measurements {
public:
  explicit Measurements(unsigned seed) : random(seed) {}

  /// Calls of one program, whose measured times are the true ones times `drift`, with 1 % of noise.
  void addProgram(double drift, int size) {
    std::vector<CallWork> works;
    for (int i = 0; i < 12; ++i) works.push_back(kernel(size)), works.push_back(gemm(size));
    CostModel model = trueModel();
    double step = 0;
    for (const CallWork &work : works) step += model.secondsOf(work);
    for (CallWork &work : works) {
      double seconds = model.secondsOf(work) * drift * std::exp(std::normal_distribution(0.0, 0.01)(random));
      calls.push_back({std::move(work), seconds, seconds / (step * drift), programs});
    }
    ++programs;
  }

  std::vector<TimedCall> calls;
  std::mt19937 random;

private:
  double between(double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  }
  CallWork kernel(int size) {
    CallWork work;
    int64_t elements = std::llround(between(1e3, 1e5) * size);
    for (const char *op : {"exp", "mul", "tanh"})
      if (random() % 2) work.ops.push_back({op, elements});
    work.traffic = {0, 0, 0};
    work.traffic[random() % 3] += 8.0 * double(elements);
    work.traffic[random() % 3] += 4.0 * double(elements);
    return work;
  }
  CallWork gemm(int size) {
    CallWork work;
    work.kind = random() % 2 ? CallKind::Gemm : CallKind::Kernel;
    auto any = [&] { return std::llround(between(8, 200) * std::cbrt(size)); };
    work.gemms = {{ElementType::F32, 1, any(), any(), any()}};
    work.traffic = {1e4 * size, 0, 0};
    return work;
  }

  unsigned programs = 0;
};

Measurements measurements(unsigned seed) {
  Measurements measured(seed);
  int size = 1;
  for (double drift : {1.03, 0.98, 0.97, 1.01, 0.99, 1.02}) measured.addProgram(drift, size), size *= 3;
  return measured;
}

/// How far the time of each of these calls is off that of the device, the largest difference.
double largestError(const CostModel &model, llvm::ArrayRef<TimedCall> calls) {
  CostModel device = trueModel();
  double largest = 0;
  for (const TimedCall &call : calls)
    if (call.share >= 0.01)
      largest = std::max(largest, std::abs(model.secondsOf(call.work) / device.secondsOf(call.work) - 1));
  return largest;
}

/// The same of the sums of calls.
double errorOfPrograms(const CostModel &model, llvm::ArrayRef<TimedCall> calls) {
  CostModel device = trueModel();
  std::map<unsigned, std::pair<double, double>> sums;
  for (const TimedCall &call : calls) {
    sums[call.program].first += model.secondsOf(call.work);
    sums[call.program].second += device.secondsOf(call.work);
  }
  double largest = 0;
  for (const auto &[program, sum] : sums) largest = std::max(largest, std::abs(sum.first / sum.second - 1));
  return largest;
}

TEST(FitFigures, FindsTheTimesOfADevice) {
  for (unsigned seed : {1, 2, 3, 4}) {
    Measurements measured = measurements(seed);
    CostModel model = firstModel();
    EXPECT_GT(errorOfPrograms(model, measured.calls), 0.2);
    FitResult fit = fitFigures(model, measured.calls, 1);
    EXPECT_LT(errorOfPrograms(model, measured.calls), 0.02) << seed;
    EXPECT_LT(largestError(model, measured.calls), 0.1) << seed;
    // Programs that were not measured, too.
    EXPECT_LT(errorOfPrograms(model, measurements(seed + 100).calls), 0.03) << seed;
    EXPECT_EQ(fit.ratios.size(), 6u);
    EXPECT_LT(fit.largestError, 0.05);
    EXPECT_LE(fit.medianError, fit.largestError);
    EXPECT_NEAR(model.get("function.exp") / 420e-12, 1, 0.15) << seed;
    EXPECT_NEAR(model.get("copy_bandwidth") / 17e9, 1, 0.1) << seed;
  }
}

TEST(FitFigures, OutliersDoNotSpoilIt) {
  for (unsigned seed : {5, 6}) {
    Measurements measured = measurements(seed);
    for (size_t i = 0; i < measured.calls.size(); i += 15) measured.calls[i].seconds *= 4;
    CostModel model = firstModel();
    fitFigures(model, measured.calls, 1);
    EXPECT_LT(errorOfPrograms(model, measured.calls), 0.05) << seed;
  }
}

TEST(FitFigures, WhatNoCallDependsOnIsKept) {
  Measurements measured = measurements(8);
  CostModel model = firstModel();
  model.set("function.sin", 77e-12), model.set("gemm.tiled.f32.k", 3.5), model.set("sustained", 93);
  FitResult fit = fitFigures(model, measured.calls, 1);
  EXPECT_EQ(model.get("function.sin"), 77e-12);
  EXPECT_EQ(model.get("gemm.tiled.f32.k"), 3.5);
  // Sizes and shares are read, but are no figures of speed.
  EXPECT_EQ(model.get("cores"), 2);
  EXPECT_EQ(model.get("sustained"), 93);
  for (const std::string &key : fit.keys) EXPECT_TRUE(key != "cores" && key != "sustained" && key != "function.sin");
}

/// With little freedom, figures of a device that was calibrated move little.
TEST(FitFigures, FreedomLimitsChanges) {
  Measurements measured = measurements(9);
  measured.calls.resize(3);
  CostModel first = firstModel(), little = first, much = first;
  FitResult fit = fitFigures(little, measured.calls, 0.01);
  fitFigures(much, measured.calls, 1);
  double changes = 0, more = 0;
  for (const std::string &key : fit.keys) {
    changes += std::abs(std::log(little.get(key) / first.get(key)));
    more += std::abs(std::log(much.get(key) / first.get(key)));
  }
  EXPECT_LT(changes, 0.1);
  EXPECT_GT(more, 2 * changes);
}

TEST(FitFigures, IsTheSameEveryTime) {
  Measurements measured = measurements(10);
  CostModel one = firstModel(), other = firstModel();
  FitResult fit = fitFigures(one, measured.calls, 1);
  fitFigures(other, measured.calls, 1);
  for (const std::string &key : fit.keys) EXPECT_EQ(one.get(key), other.get(key)) << key;
}

TEST(FitFigures, WithoutCallsNothingChanges) {
  CostModel model = firstModel();
  FitResult fit = fitFigures(model, {}, 1);
  EXPECT_TRUE(fit.keys.empty() && fit.ratios.empty());
}

} // namespace
