//===- LockstepTest.cpp - exchanges of ranks ------------------------------===//

#include "ir/interpreter/Lockstep.h"
#include "ir/dialect/GraphBuilder.h"
#include "tests/ir/TextProgram.h"

using namespace mlir;
using namespace tessera;
using tessera::test::TextProgram;
using Numbers = std::vector<double>;

namespace {
/// A mesh `data: 2, tensor: 2`, and functions of two values of two elements each.
class OnFourRanks : public ::testing::Test {
protected:
  /// Ranks run the functions that are named, or all the first one; each sends 10 * rank, 10 * rank + 1.
  void run(const std::string &text, std::vector<std::string> names) {
    program.emplace(text);
    MLIRContext *context = program->getModule().getContext();
    ProgramMesh::set(program->getModule(), {axis(context, "data", 2), axis(context, "tensor", 2)});
    SmallVector<func::FuncOp> functions;
    for (const std::string &name : names) functions.push_back(program->getModule().lookupSymbol<func::FuncOp>(name));
    SmallVector<SmallVector<TensorValue>> arguments(4);
    for (int rank = 0; rank < 4; ++rank) {
      TensorValue value(tensorType(functions.front().getArgument(0)));
      for (size_t i = 0; i < value.data.size(); ++i) value.data[i] = 10 * rank + static_cast<double>(i);
      arguments[rank].push_back(value);
    }
    Lockstep lockstep(ProgramMesh::of(program->getModule()));
    auto found = lockstep.run(functions, arguments);
    error = lockstep.getError().str();
    if (succeeded(found))
      for (auto &ofRank : *found) results.push_back(ofRank.front().data);
  }

  std::optional<TextProgram> program;
  std::string error;
  std::vector<Numbers> results;
};
} // namespace

static std::string gather(const std::string &name, const std::string &along) {
  return "func.func @" + name + "(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[" + along + R"(: 2, a: 2], f32> {
    %s = tsr.start all_gather %x along )" +
         along + " as \"" + name + "\" : !tsr.tensor<[a: 2], f32> -> !tsr.tensor<[" + along + R"(: 2, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[)" +
         along + R"(: 2, a: 2], f32>, !tsr.tensor<[a: 2], f32>
    return %w : !tsr.tensor<[)" +
         along + R"(: 2, a: 2], f32>
  }
)";
}

TEST_F(OnFourRanks, GatherAlongTheInnerAxisOfTheMesh) {
  run(gather("f", "tensor"), {"f"});
  EXPECT_EQ(results, (std::vector<Numbers>{{0, 1, 10, 11}, {0, 1, 10, 11}, {20, 21, 30, 31}, {20, 21, 30, 31}}));
}

TEST_F(OnFourRanks, GatherAlongTheOuterAxisOfTheMesh) {
  run(gather("f", "data"), {"f"});
  EXPECT_EQ(results, (std::vector<Numbers>{{0, 1, 20, 21}, {10, 11, 30, 31}, {0, 1, 20, 21}, {10, 11, 30, 31}}));
}

TEST_F(OnFourRanks, AllToAllSendsOnePositionToEachRank) {
  run(R"(func.func @f(%x: !tsr.tensor<[data: 2, a: 2], f32>) -> !tsr.tensor<[data: 2, a: 2], f32> {
    %s = tsr.start all_to_all %x along data : !tsr.tensor<[data: 2, a: 2], f32> -> !tsr.tensor<[data: 2, a: 2], f32>
    %w = tsr.wait %s sent %x : !tsr.tensor<[data: 2, a: 2], f32>, !tsr.tensor<[data: 2, a: 2], f32>
    return %w : !tsr.tensor<[data: 2, a: 2], f32>
  })",
      {"f"});
  EXPECT_EQ(results, (std::vector<Numbers>{{0, 1, 20, 21}, {10, 11, 30, 31}, {2, 3, 22, 23}, {12, 13, 32, 33}}));
}

TEST_F(OnFourRanks, AnotherExchangeOfOneRankIsAnError) {
  run(gather("f", "tensor") + gather("g", "tensor"), {"f", "f", "f", "g"});
  EXPECT_TRUE(results.empty());
  EXPECT_EQ(error, "rank 2 is at all_gather along tensor of f, rank 3 is at all_gather along tensor of g");
}

TEST_F(OnFourRanks, ARankThatWaitsForNobodyIsAnError) {
  run(gather("f", "tensor") + R"(func.func @g(%x: !tsr.tensor<[a: 2], f32>) -> !tsr.tensor<[a: 2], f32> {
    return %x : !tsr.tensor<[a: 2], f32>
  })",
      {"f", "f", "f", "g"});
  EXPECT_TRUE(results.empty());
  EXPECT_NE(error.find("rank 3 has ended"), std::string::npos) << error;
}

TEST_F(OnFourRanks, ExchangesInAnotherOrderAreAnError) {
  auto both = [](const std::string &name, const std::string &first, const std::string &second) {
    std::string t = "!tsr.tensor<[a: 2], f32>", r = "!tsr.tensor<[tensor: 2, a: 2], f32>";
    auto exchange = [&](const std::string &at) {
      return "%s" + at + " = tsr.start all_gather %x along tensor as \"" + at + "\" : " + t + " -> " + r + "\n%w" + at +
             " = tsr.wait %s" + at + " sent %x : " + r + ", " + t + "\n";
    };
    return "func.func @" + name + "(%x: " + t + ") -> " + r + " {\n" + exchange(first) + exchange(second) +
           "%sum = tsr.add %wone, %wtwo : " + r + "\nreturn %sum : " + r + "\n}\n";
  };
  std::string text = both("f", "one", "two") + both("g", "two", "one");
  run(text, {"f"});
  EXPECT_EQ(error, "");
  EXPECT_EQ(results.size(), 4u);
  run(text, {"f", "g", "f", "f"});
  EXPECT_EQ(error, "rank 0 is at all_gather along tensor of one, rank 1 is at all_gather along tensor of two");
}
