//===- ShardingPinsTest.cpp - namings of meshes, and what they leave ------===//

#include "passes/sharding/search/ShardingPins.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;

namespace {
class ShardingPinsTest : public ::testing::Test {
protected:
  ShardingPinsTest() { context.loadDialect<TsrDialect, func::FuncDialect>(); }

  /// A weight with a moment, and rows of data that are multiplied with it.
  ShardingPins pinsWith(const ShardSettings &settings) {
    constexpr StringLiteral text = R"(
      module attributes {tsr.axes = ["batch", "in", "out"], tsr.data = [{name = "d", batch = ["batch", 8]}]} {
        tsr.state @w "weight" !tsr.tensor<[in: 8, out: 8], f32>
        tsr.state @w.m "moment" !tsr.tensor<[in: 8, out: 8], f32>
        func.func @step(%x: !tsr.tensor<[batch: 8, in: 8], f32> {tsr.input = {name = "x", role = "data"}},
            %w: !tsr.tensor<[in: 8, out: 8], f32> {tsr.state = @w},
            %m: !tsr.tensor<[in: 8, out: 8], f32> {tsr.state = @w.m})
            -> (!tsr.tensor<[batch: 8, out: 8], f32> {tsr.output = {name = "y", role = "prediction"}}) {
          %v = tsr.add %w, %m : !tsr.tensor<[in: 8, out: 8], f32>
          %y = tsr.contract %x, %v over [in] : (!tsr.tensor<[batch: 8, in: 8], f32>, !tsr.tensor<[in: 8, out: 8], f32>)
              -> !tsr.tensor<[batch: 8, out: 8], f32>
          return %y : !tsr.tensor<[batch: 8, out: 8], f32>
        }
      })";
    module = parseSourceString<ModuleOp>(text, &context);
    return ShardingPins(*module, settings);
  }
  /// "data|tensor|" for each naming, in order.
  std::vector<std::string> namings(const ShardingPins &pins, ArrayRef<int64_t> mesh) {
    std::vector<std::string> texts;
    for (const PinnedMesh &naming : pins.namingsOf(mesh, problem)) texts.push_back(llvm::join(naming.names, "|"));
    return texts;
  }
  /// The axes that the labels of the node of a state may divide along a mesh axis, "-" for none, of all labels.
  std::string left(const PinnedMesh &pins, StringRef path, unsigned along) {
    TiledContractions none;
    ShardingGraph graph(entryFunctions(*module).front(), none);
    std::vector<Form> labels;
    AxisId axes[] = {wholeForm, graph.axisNumber("in"), graph.axisNumber("out")};
    for (AxisId first : axes)
      for (AxisId second : axes)
        if (first != second || first == wholeForm) labels.push_back(Form{{first, second}});
    std::string text;
    for (auto [i, node] : llvm::enumerate(graph.getNodes()))
      if (node.kind == ShardingNode::Kind::State && cast<StateOp>(node.ops.front()).getPath() == path)
        for (AxisId axis : axes)
          if (llvm::any_of(pins.allowed(graph, i, labels), [&](const Form &form) { return form.along[along] == axis; }))
            text += (text.empty() ? "" : " ") + (axis == wholeForm ? "-" : graph.axisName(axis).str());
    return text;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string problem;
};
} // namespace

TEST_F(ShardingPinsTest, NothingSaidIsOneNamingWithoutNames) {
  ShardingPins pins = pinsWith({});
  EXPECT_FALSE(pins.areGiven());
  EXPECT_EQ(namings(pins, {4, 2}), (std::vector<std::string>{"|"}));
}

TEST_F(ShardingPinsTest, NamesStandForEachAxisOfAMesh) {
  ShardSettings said;
  said.axes = {{"in", "a"}, {"out", "b"}};
  ShardingPins pins = pinsWith(said);
  EXPECT_EQ(namings(pins, {4, 2}), (std::vector<std::string>{"a|b", "b|a"}));
  EXPECT_EQ(namings(pins, {2, 2, 2}).size(), 6u);
  EXPECT_TRUE(namings(pins, {8}).empty()); // too few axes
  // Eight elements are too few for 16 ranks: no naming, and the reason.
  EXPECT_TRUE(namings(pins, {16, 16}).empty());
  EXPECT_NE(problem.find("8 elements for 16 ranks"), std::string::npos) << problem;
  EXPECT_EQ(namings(pins, {16, 2}).size(), 0u);
}

TEST_F(ShardingPinsTest, ZeroNeedsAnAxisOfData) {
  ShardSettings said;
  said.zero = ZeroLevel::Moments;
  EXPECT_EQ(namings(pinsWith(said), {4, 2}), (std::vector<std::string>{"data|", "|data"}));
  said.zero = ZeroLevel::None; // rows may also be whole
  EXPECT_EQ(namings(pinsWith(said), {4, 2}), (std::vector<std::string>{"data|", "|data", "|"}));
  said.mesh = {{"a", 4}, {"b", 2}};
  EXPECT_EQ(namings(pinsWith(said), {4, 2}), (std::vector<std::string>{"a|b", "a|b", "a|b"}));
  said.axes = {{"batch", "b"}};
  EXPECT_EQ(namings(pinsWith(said), {4, 2}), (std::vector<std::string>{"a|b"}));
}

TEST_F(ShardingPinsTest, LabelsThatAgree) {
  ShardSettings said;
  said.mesh = {{"data", 4}, {"tensor", 2}};
  said.axes = {{"batch", "data"}, {"out", "tensor"}};
  PinnedMesh free = pinsWith(said).namingsOf({4, 2}, problem).front();
  EXPECT_EQ(left(free, "w", 1), "out");
  EXPECT_EQ(left(free, "w", 0), "- in");
  said.zero = ZeroLevel::Moments;
  PinnedMesh moments = pinsWith(said).namingsOf({4, 2}, problem).front();
  EXPECT_EQ(left(moments, "w", 0), "-");
  EXPECT_EQ(left(moments, "w.m", 0), "in");
  EXPECT_EQ(left(moments, "w.m", 1), "out");
  said.zero = ZeroLevel::Weights, said.states = {{"w", "in", "tensor"}}; // before what is said of axes
  PinnedMesh weights = pinsWith(said).namingsOf({4, 2}, problem).front();
  EXPECT_EQ(left(weights, "w", 1), "in");
  EXPECT_EQ(left(weights, "w", 0), "out");
}
