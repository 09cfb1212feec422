// Plans that are kept: their texts, and what they say of a program that changed.

#include "passes/sharding/search/ShardingPlan.h"
#include "ir/dialect/Attributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {

class ShardingPlanTest : public ::testing::Test {
protected:
  ShardingPlanTest() { context.loadDialect<TsrDialect, func::FuncDialect>(); }

  /// Rows of data times two weights. `out`: elements of the second one's axis; `more`: ops at the end.
  OwningOpRef<ModuleOp> program(int out = 64, const std::string &more = "", const std::string &state = "w2") {
    std::string text = R"(
      !rows = !tsr.tensor<[batch: 64, in: 32], f32>
      !first = !tsr.tensor<[in: 32, ff: 128], f32>
      !hidden = !tsr.tensor<[batch: 64, ff: 128], f32>
      !second = !tsr.tensor<[ff: 128, out: OUT], f32>
      !result = !tsr.tensor<[batch: 64, out: OUT], f32>
      module attributes {tsr.axes = ["batch", "in", "ff", "out"], tsr.phase = "optimize"} {
        tsr.state @w1 "weight" !first
        tsr.state @STATE "weight" !second
        func.func @step(%x: !rows {tsr.input = {name = "x", role = "data"}}, %a: !first {tsr.state = @w1},
            %b: !second {tsr.state = @STATE}) -> (!result {tsr.output = {name = "y", role = "prediction"}}) {
          %h = tsr.contract %x, %a over [in] : (!rows, !first) -> !hidden loc("m.tsr":7:3)
          %y = tsr.contract %h, %b over [ff] : (!hidden, !second) -> !result loc("m.tsr":7:3)
          %z = tsr.neg %y : !result loc("m.tsr":8:3)
          MORE
          return %z : !result
        }
      })";
    replace(text, "OUT", std::to_string(out)), replace(text, "STATE", state), replace(text, "MORE", more);
    return parseSourceString<ModuleOp>(text, &context);
  }
  static void replace(std::string &text, const std::string &word, const std::string &by) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
      text.replace(at, word.size(), by);
  }
  std::string changesTo(const OwningOpRef<ModuleOp> &now) {
    OwningOpRef<ModuleOp> before = program();
    return ShardingPlan::of(*before).whatChanged(*now);
  }

  MLIRContext context;
};

TEST_F(ShardingPlanTest, AxesAreTexts) {
  PlannedAxes axes{{"batch", 64, "data"}, {"embed", 768}};
  EXPECT_EQ(textOf(axes), "batch: 64 = data, embed: 768");
  std::optional<PlannedAxes> read = parsePlannedAxes(textOf(axes));
  ASSERT_TRUE(read);
  EXPECT_EQ(textOf(*read), textOf(axes));
  EXPECT_EQ(textOf(*parsePlannedAxes(" batch:64=data,embed : 768 ")), textOf(axes));
  EXPECT_TRUE(parsePlannedAxes("")->empty());
  for (StringRef wrong :
       {"batch", "batch: x", "batch: 0", "batch: -3", "batch: 64 =", ": 3", "batch: 64,", "a: 1 b: 2"})
    EXPECT_FALSE(parsePlannedAxes(wrong)) << wrong.str();
}

TEST_F(ShardingPlanTest, OpsHaveNamesOfTheirOwn) {
  OwningOpRef<ModuleOp> module = program();
  ASSERT_TRUE(module);
  ShardingPlan plan = ShardingPlan::of(*module);
  ASSERT_EQ(plan.ops.size(), 3u);
  EXPECT_EQ(plan.ops[0].name, "m.tsr:7:3 contract");
  EXPECT_EQ(plan.ops[1].name, "m.tsr:7:3 contract #2");
  EXPECT_EQ(plan.ops[1].kind(), "contract");
  EXPECT_EQ(plan.ops[1].place(), "m.tsr:7:3");
  EXPECT_EQ(textOf(plan.ops[1].axes.front()), "batch: 64, out: 64, ff: 128");
  ASSERT_EQ(plan.inputs.size(), 1u);
  EXPECT_EQ(plan.inputs[0].name, "x");
  ASSERT_EQ(plan.states.size(), 2u);
  EXPECT_EQ(textOf(plan.states[0].axes.front()), "in: 32, ff: 128");
  PlannedEntry withoutPlace{"contract", {}};
  EXPECT_EQ(withoutPlace.kind(), "contract");
  EXPECT_EQ(withoutPlace.place(), "");
}

TEST_F(ShardingPlanTest, TheAttributeHoldsAll) {
  OwningOpRef<ModuleOp> module = program();
  ShardingPlan plan = ShardingPlan::of(*module);
  plan.mesh = {{"tensor", 4}};
  plan.seconds = 3, plan.bound = 2, plan.bytes = 5, plan.memory = 7;
  plan.ops[1].axes.front()[2].along = "tensor";
  plan.record(*module);
  std::string problem;
  std::optional<ShardingPlan> read = ShardingPlan::recordedIn(*module, problem);
  ASSERT_TRUE(read) << problem;
  EXPECT_EQ(read->mesh, plan.mesh);
  EXPECT_EQ(read->figures(&context), plan.figures(&context));
  EXPECT_EQ(textOf(read->ops[1].axes.front()), "batch: 64, out: 64, ff: 128 = tensor");
  EXPECT_EQ(read->whatChanged(*module), "");
  auto function = module->lookupSymbol<func::FuncOp>("step");
  ShardingTable table = read->tableOf(function);
  Operation *second = function.getBody().front().front().getNextNode();
  EXPECT_EQ(table.ofOps.lookup(second).meshAxis("ff"), "tensor");
  EXPECT_TRUE(table.ofOps.lookup(second->getNextNode()).isEmpty());
  (*module)->setAttr(planAttr, Builder(&context).getDictionaryAttr({}));
  EXPECT_FALSE(ShardingPlan::recordedIn(*module, problem));
  EXPECT_EQ(problem, "`tsr.plan` is malformed");
}

TEST_F(ShardingPlanTest, ChangesAreToldInWords) {
  EXPECT_EQ(changesTo(program()), "");
  EXPECT_EQ(changesTo(program(96)), "the axis `out` has 96 elements now, and had 64");
  EXPECT_EQ(changesTo(program(64, "", "w3")), "the state `w3` is new; the state `w2` is gone");
  EXPECT_EQ(changesTo(program(64, "%u = tsr.neg %z : !result loc(\"m.tsr\":9:3)")),
            "a step has 1 op more, from `neg` at m.tsr:9:3 on");
  OwningOpRef<ModuleOp> before = program(64, "%u = tsr.neg %z : !result loc(\"m.tsr\":9:3)"), now = program();
  EXPECT_EQ(ShardingPlan::of(*before).whatChanged(*now), "a step has 1 op less, from what was `neg` at m.tsr:9:3 on");
  OwningOpRef<ModuleOp> other = program(64, "%u = tsr.exp %z : !result loc(\"m.tsr\":10:3)");
  EXPECT_EQ(ShardingPlan::of(*before).whatChanged(*other),
            "a step computes something else from `exp` at m.tsr:10:3 on, which was `neg` at m.tsr:9:3");
}

TEST_F(ShardingPlanTest, LinesMayMove) {
  OwningOpRef<ModuleOp> before = program(64, "%u = tsr.neg %z : !result loc(\"m.tsr\":9:3)");
  OwningOpRef<ModuleOp> now = program(64, "%u = tsr.neg %z : !result loc(\"other.tsr\":19:3)");
  EXPECT_EQ(ShardingPlan::of(*before).whatChanged(*now), "");
}

} // namespace
