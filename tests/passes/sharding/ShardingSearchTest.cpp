//===- ShardingSearchTest.cpp - what the search says of what it found -----===//

#include "passes/sharding/search/ShardingSearch.h"
#include "ir/dialect/GraphBuilder.h"
#include "mlir/Parser/Parser.h"
#include "passes/sharding/DividedWork.h"
#include "passes/sharding/search/Alternatives.h"
#include "gmock/gmock.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

OwningOpRef<ModuleOp> parse(MLIRContext &context, const std::string &text) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  return parseSourceString<ModuleOp>(text, &context);
}

/// Rows times a weight. `arguments`: more of them, each with a comma before it.
std::string program(const std::string &arguments = "") {
  return R"mlir(!rows = !tsr.tensor<[batch: 64, in: 64], f32>
!weight = !tsr.tensor<[in: 64, out: 64], f32>
!result = !tsr.tensor<[batch: 64, out: 64], f32>
module attributes {tsr.axes = ["batch", "in", "out"], tsr.phase = "optimize"} {
  tsr.state @w "weight" !weight
  func.func @step(%x: !rows {tsr.input = {name = "x", role = "data"}}, %w: !weight {tsr.state = @w})
      -> (!result {tsr.output = {name = "y", role = "prediction"}}) {
    %y = tsr.contract %x, %w over [in] : (!rows, !weight) -> !result
    return %y : !result
  }
  func.func @evaluate(%w: !weight {tsr.state = @w}
      )mlir" +
         arguments + R"mlir() {
    return
  }
})mlir";
}

/// A slow processor, on which it pays to divide even this program.
SearchDevices slow() {
  Target target = *Target::named("x86");
  target.figures.linkBandwidths = {{"memory", 1e6}};
  target.figures.linkLatencies = {{"memory", 1e-12}};
  target.figures.cpu.thread.f32 = 1e6;
  return {target, CostModel(target, 1), std::nullopt, 1};
}

/// The notes of the warning about undivided work.
std::vector<std::string> notesOf(ModuleOp module, ShardingDecision decision) {
  std::vector<std::string> notes;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    for (const Diagnostic &note : diagnostic.getNotes()) notes.push_back(note.str());
    return success();
  });
  warnOfUndividedWork(module, ProgramMesh::of(module), decision);
  return notes;
}

std::optional<ModuleSharding> findWithin(ModuleOp module, double bytes) {
  SearchOptions options;
  options.bytes = bytes;
  return findSharding(module, 2, slow(), options);
}

/// Of few rows: to divide the weights saves memory, and takes a sum of terms.
const char *const twoProducts = R"mlir(!rows = !tsr.tensor<[batch: 16, in: 64], f32>
!up = !tsr.tensor<[in: 64, mid: 256], f32>
!middle = !tsr.tensor<[batch: 16, mid: 256], f32>
!down = !tsr.tensor<[mid: 256, out: 64], f32>
!result = !tsr.tensor<[batch: 16, out: 64], f32>
module attributes {tsr.axes = ["batch", "in", "mid", "out"], tsr.phase = "optimize"} {
  tsr.state @up "weight" !up
  tsr.state @down "weight" !down
  func.func @step(%x: !rows {tsr.input = {name = "x", role = "data"}}, %up: !up {tsr.state = @up},
      %down: !down {tsr.state = @down}) -> (!result {tsr.output = {name = "y", role = "prediction"}}) {
    %h = tsr.contract %x, %up over [in] : (!rows, !up) -> !middle
    %y = tsr.contract %h, %down over [mid] : (!middle, !down) -> !result
    return %y : !result
  }
})mlir";

TEST(ShardingSearch, MemoryDecidesIfFasterShardingsNeedMore) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, twoProducts);
  ASSERT_TRUE(module);
  std::optional<ModuleSharding> fastest = findWithin(*module, INFINITY);
  ASSERT_TRUE(fastest);
  EXPECT_FALSE(fastest->memoryDecides);
  double bytes = fastest->step.cost.bytes;
  std::optional<ModuleSharding> fitting = findWithin(*module, bytes);
  ASSERT_TRUE(fitting);
  EXPECT_FALSE(fitting->memoryDecides);
  EXPECT_TRUE(fitting->isWithin);
  std::optional<ModuleSharding> least = findWithin(*module, 1);
  ASSERT_TRUE(least);
  EXPECT_FALSE(least->isWithin);
  EXPECT_LT(least->step.cost.bytes, bytes);
  bool mayDecide = false;
  for (int percent = 95; percent > 30; percent -= 5) {
    std::optional<ModuleSharding> smaller = findWithin(*module, percent * bytes / 100);
    ASSERT_TRUE(smaller);
    if (!smaller->isWithin) continue;
    EXPECT_LE(smaller->step.cost.bytes, percent * bytes / 100);
    bool isSlower = smaller->step.cost.seconds > fastest->step.cost.seconds;
    EXPECT_EQ(smaller->memoryDecides, isSlower) << percent << " %";
    mayDecide |= isSlower;
  }
  EXPECT_TRUE(mayDecide);
}

TEST(ShardingSearch, AWarningNamesWhatDecided) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, program());
  ASSERT_TRUE(module);
  ProgramMesh::set(*module, {axis(&context, "replica", 2)});
  EXPECT_THAT(notesOf(*module, ShardingDecision::User), ElementsAre());
  EXPECT_THAT(notesOf(*module, ShardingDecision::Time), ElementsAre(HasSubstr("fewer devices may do as well")));
  EXPECT_THAT(notesOf(*module, ShardingDecision::Memory), ElementsAre(HasSubstr("more than the memory of a rank")));
  ProgramMesh::set(*module, {axis(&context, "replica", 128)});
  EXPECT_THAT(notesOf(*module, ShardingDecision::Memory), ElementsAre(HasSubstr("at most 64, for 128 ranks")));
}

/// The weight has to be whole in `evaluate`, so it is in `step`.
TEST(ShardingSearch, NothingIsDividedIfAFunctionHasTooManyAxes) {
  std::string arguments;
  for (int i = 0; i < 260; ++i)
    arguments += ", %a" + std::to_string(i) + ": !tsr.tensor<[a" + std::to_string(i) + ": 2], f32>";
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, program(arguments));
  ASSERT_TRUE(module);
  EXPECT_EQ(mostAxisNames(*module), 262u);
  std::optional<ModuleSharding> found = findWithin(*module, INFINITY);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ofStates["w"].getParts().empty());
  ASSERT_EQ(found->mesh.size(), 1u);
  EXPECT_EQ(found->mesh.front().getName(), "replica");
  ProgramMesh::set(*module, found->mesh);
  EXPECT_THAT(notesOf(*module, ShardingDecision::Time),
              ElementsAre(HasSubstr("at most 254 names of axes in a function, and this one has 262")));
}

TEST(ShardingSearch, OtherMeshesTakeNoLessThanIsSaid) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = parse(context, program());
  std::optional<ModuleSharding> found = findSharding(*module, 8, slow(), SearchOptions());
  ASSERT_TRUE(found);
  ASSERT_GE(found->meshes.size(), 2u);
  int exact = 0;
  for (const SearchedMesh &searched : found->meshes) {
    if (searched.mesh == found->step.mesh) EXPECT_TRUE(searched.isExact);
    OwningOpRef<ModuleOp> pinned = parse(context, program());
    ShardSettings settings;
    settings.devices = 8;
    for (auto [i, ranks] : llvm::enumerate(searched.mesh)) settings.mesh.emplace_back("m" + std::to_string(i), ranks);
    settings.record(*pinned);
    std::optional<ModuleSharding> other = findSharding(*pinned, 8, slow(), SearchOptions());
    ASSERT_TRUE(other);
    EXPECT_EQ(other->step.mesh, searched.mesh);
    EXPECT_GE(other->step.cost.seconds, (1 - 1e-9) * searched.seconds);
    if (searched.isExact) EXPECT_LE(other->step.cost.seconds, 1.02 * searched.seconds);
    exact += searched.isExact;
  }
  EXPECT_GE(exact, 1);
}

/// What each mesh axis divides of the weight, and of the line of the contraction.
TEST(ShardingSearch, StatesAndLinesHavePrices) {
  MLIRContext context;
  std::string text = program();
  size_t end = text.find("-> !result\n    return");
  OwningOpRef<ModuleOp> module = parse(context, text.insert(end + 10, " loc(\"m.tsr\":7:3)"));
  ASSERT_TRUE(module);
  std::optional<ModuleSharding> found = findSharding(*module, 2, slow(), SearchOptions());
  ASSERT_TRUE(found);
  std::vector<PricedDivision> decisions = priceAlternatives(*found, slow());
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].state, "w");
  EXPECT_EQ(decisions[1].line, "m.tsr:7");
  EXPECT_EQ(decisions[1].op, "contract");
  for (const PricedDivision &decision : decisions) {
    EXPECT_EQ(decision.along, found->mesh.front().getName());
    for (const ShardingAlternative &rejected : decision.rejected) {
      EXPECT_NE(rejected.axis, decision.chosen);
      EXPECT_TRUE(rejected.isExact);
      EXPECT_GE(rejected.seconds, (1 - 1e-9) * found->step.cost.seconds);
    }
  }
  EXPECT_GE(decisions[1].rejected.back().seconds, 1.5 * found->step.cost.seconds) << "whole on both ranks";
}

} // namespace
