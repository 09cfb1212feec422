//===- GradientConventionsTest.cpp - gradients where there is a choice ----===//
//
// Ties, kinks and values that are not numbers: see docs/ir.md.
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tests/ir/TextProgram.h"
#include <cmath>
#include <limits>

using namespace tessera;
using tessera::test::TextProgram;
using Numbers = std::vector<std::vector<double>>;

/// Gradients of the sum of `%y`, a vector of two that `body` computes from the vectors `%x0`, `%x1`, ….
static Numbers gradients(const std::string &body, const Numbers &inputs) {
  const std::string vector = "!tsr.tensor<[a: 2], f64>", scalar = "!tsr.tensor<[], f64>";
  std::string arguments, names, types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string comma = i ? ", " : "", name = "%x" + std::to_string(i);
    arguments += comma + name + ": " + vector;
    names += comma + name;
    types += comma + vector;
  }
  TextProgram program("func.func @f(" + arguments + ") -> (" + types + ") {\n" + body +
                      "\n%loss = tsr.reduce sum %y over [\"a\"] : " + vector + " -> " + scalar +
                      "\n%g:" + std::to_string(inputs.size()) + " = tsr.gradient %loss wrt (" + names + ") : (" +
                      scalar + ", " + types + ") -> (" + types + ")\nreturn " +
                      (inputs.size() == 1 ? "%g#0" : "%g#0, %g#1") + " : " + types + "\n}");
  mlir::PassManager pm(program.getModule().getContext());
  pm.addPass(createDifferentiatePass());
  EXPECT_TRUE(mlir::succeeded(pm.run(program.getModule())));
  return program.run("f", inputs);
}

static std::string binary(const std::string &op) {
  return "%y = tsr." + op +
         " %x0, %x1 : (!tsr.tensor<[a: 2], f64>, !tsr.tensor<[a: 2], f64>) -> !tsr.tensor<[a: 2], f64>";
}

static std::string unary(const std::string &op) { return "%y = tsr." + op + " %x0 : !tsr.tensor<[a: 2], f64>"; }

TEST(GradientConventions, AtATieMaxAndMinGoToTheLeftSide) {
  for (const char *op : {"max", "min"})
    EXPECT_EQ(gradients(binary(op), {{1, 2}, {1, 2}}), (Numbers{{1, 1}, {0, 0}})) << op;
}

TEST(GradientConventions, ATieInAReductionIsSharedEqually) {
  for (std::string kind : {"max", "min"}) {
    std::string body = "%m = tsr.reduce " + kind +
                       " %x0 over [\"a\"] : !tsr.tensor<[a: 2], f64> -> !tsr.tensor<[], f64>\n" +
                       "%y = tsr.broadcast %m : !tsr.tensor<[], f64> -> !tsr.tensor<[a: 2], f64>";
    EXPECT_EQ(gradients(body, {{3, 3}}), (Numbers{{1, 1}})) << kind;
  }
}

/// Beside logits of any size that are equal, probabilities are equal. A row without probabilities has no gradient.
TEST(GradientConventions, ACrossEntropyOfEqualLogits) {
  const std::string scalar = "!tsr.tensor<[], f64>", vector = "!tsr.tensor<[a: 2], f64>";
  std::string body = "%label = tsr.constant 0 : i32 -> !tsr.tensor<[], i32>\n"
                     "%loss0, %shift, %inverse = tsr.cross_entropy %x0, %label over \"a\" : (" +
                     vector + ", !tsr.tensor<[], i32>) -> (" + scalar + ", " + scalar + ", " + scalar +
                     ")\n%y = tsr.broadcast %loss0 : " + scalar + " -> " + vector;
  for (double logit : {0.0, 1e30, -1e30, -1e300}) EXPECT_EQ(gradients(body, {{logit, logit}}), (Numbers{{-1, 1}}));
  const double infinity = std::numeric_limits<double>::infinity();
  Numbers ofNone = gradients(body, {{-infinity, -infinity}});
  for (double gradient : ofNone[0]) EXPECT_TRUE(std::isnan(gradient));
}

TEST(GradientConventions, AbsAtZeroHasNone) { EXPECT_EQ(gradients(unary("abs"), {{0, -2}}), (Numbers{{0, -1}})); }

TEST(GradientConventions, NoneIntoTheExponentOfABaseThatIsNotPositive) {
  Numbers found = gradients(binary("pow"), {{-2, 0}, {2, 2}});
  EXPECT_EQ(found[1], (std::vector<double>{0, 0}));
  EXPECT_EQ(found[0], (std::vector<double>{-4, 0}));
}

TEST(GradientConventions, TheSideNotSelectedGetsZeroEvenIfItIsNaN) {
  // y = x > 0 ? log(x) : 0 has a clean gradient; so has one whose other side is NaN.
  std::string body = R"(%zero = tsr.constant 0.0 : f64 -> !tsr.tensor<[], f64>
    %c = tsr.compare gt %x0, %zero : (!tsr.tensor<[a: 2], f64>, !tsr.tensor<[], f64>) -> !tsr.tensor<[a: 2], i1>
    %y = tsr.select %c, %x0, %x1 : <[a: 2], i1>, <[a: 2], f64>)";
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(gradients(body, {{1, -1}, {nan, 5}}), (Numbers{{1, 0}, {0, 1}}));
}

TEST(GradientConventions, AMaskedSoftmaxRowHasNone) {
  double infinity = std::numeric_limits<double>::infinity();
  std::string body =
      "%p = tsr.softmax %x0 over \"a\" : !tsr.tensor<[a: 2], f64>\n"
      "%y = tsr.mul %p, %p : (!tsr.tensor<[a: 2], f64>, !tsr.tensor<[a: 2], f64>) -> !tsr.tensor<[a: 2], f64>";
  EXPECT_EQ(gradients(body, {{-infinity, -infinity}}), (Numbers{{0, 0}}));
}

TEST(GradientConventions, AReadOutOfRangePassesItsGradientToTheNearestElement) {
  std::string body = R"(%i = tsr.index : !tsr.tensor<[a: 2], i32>
    %two = tsr.constant 2 : i32 -> !tsr.tensor<[], i32>
    %j = tsr.mul %i, %two : (!tsr.tensor<[a: 2], i32>, !tsr.tensor<[], i32>) -> !tsr.tensor<[a: 2], i32>
    %y = tsr.gather %x0[["a"] = %j]
        : (!tsr.tensor<[a: 2], f64>, !tsr.tensor<[a: 2], i32>) -> !tsr.tensor<[a: 2], f64>)";
  EXPECT_EQ(gradients(body, {{1, 2}}), (Numbers{{1, 1}}));
}

TEST(GradientConventions, AStopPassesNone) {
  std::string body = R"(%s = tsr.stop %x0 : !tsr.tensor<[a: 2], f64>
    %p = tsr.mul %x0, %s : <[a: 2], f64>
    %t = tsr.mul %x1, %x1 : <[a: 2], f64>
    %r = tsr.stop %t : !tsr.tensor<[a: 2], f64>
    %y = tsr.add %p, %r : <[a: 2], f64>)";
  EXPECT_EQ(gradients(body, {{3, -2}, {5, 7}}), (Numbers{{3, -2}, {0, 0}}));
}

TEST(GradientConventions, WhatTheLossDoesNotDependOnHasTheGradientZero) {
  std::string body = "%y = tsr.neg %x0 : !tsr.tensor<[a: 2], f64>";
  EXPECT_EQ(gradients(body, {{1, 2}, {3, 4}}), (Numbers{{-1, -1}, {0, 0}}));
}
