//===- PoliciesTest.cpp - policies, and all sets of units -----------------===//

#include "passes/rematerialize/Policies.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/rematerialize/BlockUnits.h"
#include "passes/rematerialize/Frontier.h"
#include "tests/passes/rematerialize/RandomSteps.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// Units of which all sets are tried.
constexpr size_t fewUnits = 13;

/// Bytes and seconds.
using Costs = std::set<std::pair<int64_t, double>>;

/// Those that none beats, the fastest first; equal within rounding errors.
std::vector<std::pair<int64_t, double>> best(const Costs &all) {
  std::vector<std::pair<int64_t, double>> sorted(all.begin(), all.end()), kept;
  for (auto [bytes, seconds] : sorted) // by bytes
    if (kept.empty() || seconds < kept.back().second - 1e-15) kept.push_back({bytes, seconds});
  return kept;
}

void expectSame(const Costs &found, const Costs &all, const std::string &where) {
  auto ours = best(found), right = best(all);
  ASSERT_EQ(ours.size(), right.size()) << where;
  for (auto [a, b] : llvm::zip(ours, right)) {
    EXPECT_EQ(a.first, b.first) << where;
    EXPECT_NEAR(a.second, b.second, 1e-12) << where;
  }
}

/// Visits all sets of `count` units.
void forEachSet(size_t count, llvm::function_ref<void(llvm::BitVector)> visit) {
  for (uint64_t bits = 0; bits < uint64_t(1) << count; ++bits) {
    llvm::BitVector set(count);
    for (size_t i = 0; i < count; ++i)
      if (bits >> i & 1) set.set(i);
    visit(std::move(set));
  }
}

double secondsOfSet(ArrayRef<RecomputeUnit> units, const llvm::BitVector &set, const OpTimes &times) {
  double seconds = 0;
  for (unsigned unit : set.set_bits()) seconds += secondsOf(units[unit], times);
  return seconds;
}
} // namespace

TEST(Policies, OfLayersAreThoseOfAllSets) {
  int pairs = 0, policies = 0, withCredits = 0;
  for (unsigned seed = 0; pairs < 200 && seed < 2000; ++seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context), Extra::Stacks);
    PipelineOptions toTile;
    toTile.compileTo = "tile";
    ASSERT_TRUE(succeeded(runPipeline(*program, toTile))) << "seed " << seed;
    OpTimes times(*Target::read(*program), 1);
    for (auto [forward, backward] : allLayerPairs(program->lookupSymbol<func::FuncOp>("step"))) {
      LayerPair pair(forward, backward);
      if (pair.units.size() > fewUnits) continue;
      std::vector<Credit> credits = creditsOf(pair, times);
      Costs all, found;
      forEachSet(pair.units.size(), [&](llvm::BitVector set) {
        int64_t bytes = 0;
        for (Value value : pair.savedWith(set)) bytes += tensorType(value).getNumBytes();
        double seconds = secondsOfSet(pair.units, set, times);
        for (const Credit &credit : credits)
          if (!credit.units.test(set)) seconds -= credit.seconds;
        all.insert({bytes, seconds});
      });
      Pins none{llvm::BitVector(pair.units.size()), llvm::BitVector(pair.units.size())};
      for (const Policy &policy : findPolicies(pair, none, times)) found.insert({policy.bytes, policy.seconds});
      expectSame(found, all, "seed " + std::to_string(seed));
      ++pairs, policies += static_cast<int>(found.size()), withCredits += !credits.empty();
    }
  }
  llvm::outs() << pairs << " pairs, " << withCredits << " of them with credits, " << policies << " policies\n";
  EXPECT_GE(pairs, 200);
  EXPECT_GT(policies, 2 * pairs);
  EXPECT_GT(withCredits, 0);
}

TEST(Policies, OfBlocksAreThoseOfAllSets) {
  int steps = 0, many = 0, worse = 0, sets = 0;
  for (unsigned seed = 0; steps < 200 && seed < 2000; ++seed) {
    MLIRContext context;
    Choices choose(seed);
    OwningOpRef<ModuleOp> module = makeRandomStep(context, seed, choose.integer(7, 13), choose.integer(5, 8));
    ASSERT_TRUE(module) << "seed " << seed;
    BlockUnits block(module->lookupSymbol<func::FuncOp>("step").getBody().front());
    if (block.units.size() > fewUnits) continue;
    OpTimes times(*Target::read(*module), 1);
    Costs all, found;
    forEachSet(block.units.size(),
               [&](llvm::BitVector set) { all.insert({block.peakWith(set), secondsOfSet(block.units, set, times)}); });
    std::vector<BlockPolicy> policies = findBlockPolicies(block, times);
    for (const BlockPolicy &policy : policies) found.insert({policy.peak, policy.seconds});
    ++steps, sets += static_cast<int>(policies.size()), many += block.units.size() > 12;
    for (auto [bytes, seconds] : best(all)) {
      auto isAsGood = [&](auto &ours) { return ours.first <= bytes && ours.second <= seconds * (1 + 1e-9); };
      if (llvm::any_of(found, isAsGood)) continue;
      ++worse;
      EXPECT_GT(block.units.size(), 12u) << "seed " << seed << ": " << bytes << " bytes for " << seconds << " s";
    }
  }
  llvm::outs() << steps << " steps, " << many << " with more than 12 units, " << sets << " sets, " << worse
               << " missing\n";
  EXPECT_EQ(steps, 200);
  EXPECT_GT(sets, 2 * steps);
  EXPECT_GT(many, 0);
  EXPECT_LE(100 * worse, sets); // of blocks with more units not all sets are tried
}
