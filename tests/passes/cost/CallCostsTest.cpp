//===- CallCostsTest.cpp - the costs of calls in loops --------------------===//

#include "passes/cost/CallCosts.h"
#include "ir/dialect/Tsr.h"
#include "passes/cost/ProgramCosts.h"
#include <chrono>
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;

namespace {

constexpr int64_t layerBytes = 3 << 20;

class CallCosts : public testing::Test {
protected:
  CallCosts() : model(*Target::named("x86"), 1) {
    context.loadDialect<TsrDialect>();
    model.set("l2_cache", 1 << 20), model.set("l3_cache", 16 << 20), model.set("l3_cores", 1);
  }

  CallAccess accessOf(int64_t offset, std::vector<int64_t> strides, int64_t bytes, bool isWritten = false) {
    return {PlaceAttr::get(&context, offset, strides), bytes, bytes, isWritten};
  }

  static ProgramCall callOf(std::vector<CallAccess> accesses) {
    ProgramCall call;
    call.work.ops = {{"mul", 1000}};
    call.accesses = std::move(accesses);
    return call;
  }

  /// A forward and a backward pass over layers: weights by layer, a stack of saved values, and a carried value.
  CallSequence layers(int64_t count) {
    int64_t weights = 0, stack = count * layerBytes, carried = 2 * stack, gradient = carried + layerBytes;
    CallSequence calls{"step", {}};
    calls.steps.push_back(callOf({accessOf(carried, {}, layerBytes, true)}));
    calls.steps.push_back(LoopBegin{"layer", count, false, StepPass::Forward});
    calls.steps.push_back(callOf({accessOf(carried, {}, layerBytes), accessOf(weights, {layerBytes}, layerBytes),
                                  accessOf(stack, {layerBytes}, layerBytes, true)}));
    calls.steps.push_back(callOf({accessOf(stack, {layerBytes}, layerBytes), accessOf(carried, {}, layerBytes, true)}));
    calls.steps.push_back(LoopEnd{});
    calls.steps.push_back(LoopBegin{"layer", count, true, StepPass::Backward});
    calls.steps.push_back(
        callOf({accessOf(stack, {layerBytes}, layerBytes), accessOf(weights, {layerBytes}, layerBytes),
                accessOf(gradient, {}, layerBytes, true)}));
    calls.steps.push_back(LoopEnd{});
    return calls;
  }

  /// The same without loops.
  CallSequence unrolled(const CallSequence &calls) {
    CallSequence flat{calls.entry, {}};
    for (size_t i = 0; i < calls.steps.size(); ++i) {
      const auto *loop = std::get_if<LoopBegin>(&calls.steps[i]);
      if (!loop) {
        flat.steps.push_back(calls.steps[i]);
        continue;
      }
      size_t end = i + 1;
      while (!std::holds_alternative<LoopEnd>(calls.steps[end])) ++end;
      for (int64_t n = 0; n < loop->iterations; ++n)
        for (size_t step = i + 1; step < end; ++step) {
          auto call = std::get<ProgramCall>(calls.steps[step]);
          for (CallAccess &access : call.accesses) {
            int64_t offset = access.place.getOffset();
            if (!access.place.getStrides().empty())
              offset += access.place.getStrides().front() * (loop->isReverse ? loop->iterations - 1 - n : n);
            access.place = PlaceAttr::get(&context, offset, {});
          }
          flat.steps.push_back(call);
        }
      i = end;
    }
    return flat;
  }

  MLIRContext context;
  CostModel model;
};

double secondsOf(const std::vector<CallCost> &costs) {
  double seconds = 0;
  for (const CallCost &cost : costs) seconds += cost.runs * cost.seconds;
  return seconds;
}

std::vector<double> trafficOf(const std::vector<CallCost> &costs) {
  std::vector<double> sum(3, 0.0);
  for (const CallCost &cost : costs)
    for (size_t level = 0; level < 3; ++level) sum[level] += cost.runs * cost.work.traffic[level];
  return sum;
}

TEST_F(CallCosts, OneCall) {
  CallSequence calls{"step", {callOf({accessOf(0, {}, 1000), accessOf(4096, {}, 500, true)})}};
  auto costs = costsOf(calls, model);
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].runs, 1);
  EXPECT_EQ(trafficOf(costs), std::vector<double>({0, 0, 1000 + 2 * 500})); // lines that are written are read first
  EXPECT_EQ(costs[0].seconds, model.secondsOf(costs[0].work));
}

/// Of what is updated in place the lines are read anyway, and a GPU writes without reading.
TEST_F(CallCosts, LinesOfUpdatesAreReadOnce) {
  CallSequence calls{"step", {callOf({accessOf(0, {}, 1000), accessOf(0, {}, 1000, true)})}};
  EXPECT_EQ(trafficOf(costsOf(calls, model)), std::vector<double>({1000, 0, 1000}));
  CallSequence writes{"step", {callOf({accessOf(0, {}, 1000, true)})}};
  EXPECT_EQ(costsOf(writes, CostModel(*Target::named("h100"), 1))[0].work.traffic.back(), 1000);
}

TEST_F(CallCosts, OneIterationIsExact) {
  EXPECT_EQ(trafficOf(costsOf(layers(1), model)), trafficOf(costsOf(unrolled(layers(1)), model)));
}

TEST_F(CallCosts, TwoIterationsAreExact) {
  EXPECT_EQ(trafficOf(costsOf(layers(2), model)), trafficOf(costsOf(unrolled(layers(2)), model)));
}

TEST_F(CallCosts, LoopsHaveNearlyTheTrafficOfAllIterations) {
  for (int64_t count : {3, 6, 12, 40}) {
    CallSequence calls = layers(count), flat = unrolled(calls);
    auto costs = costsOf(calls, model), all = costsOf(flat, model);
    auto traffic = trafficOf(costs), expected = trafficOf(all);
    double total = 0, wanted = 0;
    for (double bytes : traffic) total += bytes;
    for (double bytes : expected) wanted += bytes;
    EXPECT_NEAR(total / wanted, 1, 0.2) << count;
    EXPECT_NEAR(secondsOf(costs) / secondsOf(all), 1, 0.2) << count;
    double runs = 0;
    for (const CallCost &cost : costs) runs += cost.runs;
    EXPECT_EQ(runs, double(all.size()));
  }
}

TEST_F(CallCosts, NestedLoopsMultiply) {
  CallSequence calls{"step",
                     {LoopBegin{"micro", 5}, LoopBegin{"layer", 7}, callOf({accessOf(0, {0, 4096}, 4096)}), LoopEnd{},
                      callOf({accessOf(1 << 20, {4096}, 4096)}), LoopEnd{}}};
  auto costs = costsOf(calls, model);
  ASSERT_EQ(costs.size(), 2u);
  EXPECT_EQ(costs[0].runs, 35);
  EXPECT_EQ(costs[1].runs, 5);
}

/// A loop of a billion iterations takes no longer than one of three, and has as many runs.
TEST_F(CallCosts, TheTimeDoesNotDependOnIterations) {
  int64_t many = 1'000'000'000;
  CallSequence calls{"step", {LoopBegin{"layer", many}, callOf({accessOf(0, {64}, 4096)}), LoopEnd{}}};
  auto begin = std::chrono::steady_clock::now();
  auto costs = costsOf(calls, model);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(costs[0].runs, double(many));
}

/// A loop takes the longer one of its kernels and of the exchanges beside them, and all others.
TEST_F(CallCosts, ExchangesBesideKernels) {
  auto exchangeOf = [](int64_t bytes, bool isBeside) {
    ProgramCall call;
    call.kind = CallKind::Exchange, call.pass = StepPass::Backward, call.isBeside = isBeside;
    call.exchange = {ExchangeKind::AllGather, bytes, {double(bytes), 1}, {}};
    return call;
  };
  ProgramCall kernel = callOf({accessOf(0, {}, layerBytes)});
  kernel.work.gemms.push_back({ElementType::F32, 1, 4096, 4096, 4096});
  for (int64_t bytes : {int64_t(1) << 10, int64_t(1) << 32}) {
    CallSequence calls{"step",
                       {LoopBegin{"micro", 2, false, StepPass::Backward},
                        LoopBegin{"layer", 4, false, StepPass::Backward}, kernel, exchangeOf(bytes, true),
                        exchangeOf(1 << 20, false), LoopEnd{}, LoopEnd{}}};
    ProgramCosts costs(calls, *Target::named("h100"), 1);
    double kernels = 0, beside = 0, others = 0;
    for (const CallCost &cost : costsOf(calls, costs.getModel())) {
      bool isExchange = cost.call->kind == CallKind::Exchange;
      (!isExchange ? kernels : cost.call->isBeside ? beside : others) += cost.runs * cost.seconds;
    }
    const EntryCost &step = costs.getEntries().at("step");
    EXPECT_EQ(beside > kernels, bytes > 1 << 20);
    EXPECT_NEAR(step.seconds, std::max(kernels, beside) + others, 1e-9 * step.seconds);
    EXPECT_DOUBLE_EQ(step.besideSeconds, std::min(kernels, beside));
    for (const LoopCost &loop : step.loops) EXPECT_NEAR(loop.seconds, step.seconds, 1e-9 * step.seconds);
    double passes = 0;
    for (auto [pass, seconds] : step.passes) passes += seconds;
    EXPECT_NEAR(passes, step.seconds, 1e-9 * step.seconds);
  }
}

} // namespace
