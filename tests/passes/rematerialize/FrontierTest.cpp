//===- FrontierTest.cpp - plans of small steps, and all there are ---------===//
//
// Steps so small that each set of units can be applied and its storage planned.
//
//===----------------------------------------------------------------------===//

#include "passes/rematerialize/Frontier.h"
#include "ir/program/Target.h"
#include "tests/passes/rematerialize/RandomSteps.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// All sets of units of the body of a step, measured.
std::vector<FrontierPoint> allPlans(func::FuncOp step, const OpTimes &times) {
  BlockUnits block(step.getBody().front());
  std::vector<FrontierPoint> plans;
  for (uint64_t bits = 0; bits < uint64_t(1) << block.units.size(); ++bits) {
    RecomputePlan plan;
    plan.blocks.emplace_back(block.units.size());
    double seconds = 0;
    for (auto [i, unit] : llvm::enumerate(block.units))
      if (bits >> i & 1) plan.blocks.front().set(i), seconds += secondsOf(unit, times);
    plans.push_back(measure(step, std::move(plan), seconds));
  }
  return plans;
}

double fastestWithin(ArrayRef<FrontierPoint> plans, int64_t bytes) {
  double seconds = std::numeric_limits<double>::infinity();
  for (const FrontierPoint &plan : plans)
    if (plan.bytes <= bytes) seconds = std::min(seconds, plan.seconds);
  return seconds;
}
} // namespace

TEST(Frontier, IsThatOfAllPlansOfSmallSteps) {
  constexpr int steps = 200;
  int budgets = 0, recomputing = 0, slower = 0;
  for (int seed = 0; seed < steps; ++seed) {
    MLIRContext context;
    Choices choose(seed);
    OwningOpRef<ModuleOp> module = makeRandomStep(context, seed, choose.integer(3, 6), choose.integer(2, 5));
    ASSERT_TRUE(module) << "seed " << seed;
    auto step = module->lookupSymbol<func::FuncOp>("step");
    OpTimes times(*Target::read(*module), 1);
    PinPatterns pins(step, {}, {});
    std::vector<FrontierPoint> found = findFrontier(step, pins, times), all = allPlans(step, times);
    for (const FrontierPoint &plan : all) {
      double best = fastestWithin(all, plan.bytes), ours = fastestWithin(found, plan.bytes);
      ++budgets, recomputing += best > 0;
      if (ours <= best * (1 + 1e-9)) continue;
      ++slower;
      ADD_FAILURE() << "seed " << seed << ": within " << plan.bytes << " bytes " << ours << " s, and " << best
                    << " can be";
    }
  }
  EXPECT_GT(recomputing, 2 * steps); // or nothing is tested
  RecordProperty("budgets", budgets);
  llvm::outs() << budgets << " budgets, " << recomputing << " of them need recomputation, " << slower
               << " get a slower plan\n";
}
