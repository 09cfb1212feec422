//===- InterpreterTest.cpp - what ops mean, in numbers ---------------------===//
//
// Inputs and expected values, worked out by hand; the conventions are those of
// docs/ir.md.
//
//===----------------------------------------------------------------------===//

#include "tests/ir/TextProgram.h"
#include <cmath>
#include <limits>

using namespace tessera;
using tessera::test::TextProgram;
using Numbers = std::vector<std::vector<double>>;

static const double infinity = std::numeric_limits<double>::infinity();
static const double notANumber = std::numeric_limits<double>::quiet_NaN();

/// The first result of `func.func @f(arguments) -> result { body; return %r }`.
static std::vector<double> evaluate(const std::string &arguments, const std::string &result, const std::string &body,
                                    const Numbers &inputs, Rounding rounding = Rounding::Double) {
  TextProgram program("func.func @f(" + arguments + ") -> " + result + " {\n" + body + "\nreturn %r : " + result +
                      "\n}");
  Numbers results = program.run("f", inputs, rounding);
  return results.empty() ? std::vector<double>() : results[0];
}

/// A vector along one axis.
static std::string vec(int size, const std::string &type = "f32", const std::string &axis = "a") {
  return "!tsr.tensor<[" + axis + ": " + std::to_string(size) + "], " + type + ">";
}

static std::vector<double> evaluateUnary(const std::string &op, const std::vector<double> &x,
                                         const std::string &type = "f32") {
  std::string tensor = vec(x.size(), type);
  return evaluate("%x: " + tensor, tensor, "%r = tsr." + op + " %x : " + tensor, {x});
}

static std::vector<double> evaluateBinary(const std::string &op, const std::vector<double> &a,
                                          const std::vector<double> &b, const std::string &type = "f32") {
  std::string tensor = vec(a.size(), type);
  return evaluate("%a: " + tensor + ", %b: " + tensor, tensor,
                  "%r = tsr." + op + " %a, %b : (" + tensor + ", " + tensor + ") -> " + tensor, {a, b});
}

static void expectNear(const std::vector<double> &got, const std::vector<double> &expected, double tolerance = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(got[i])) << "at " << i << ": " << got[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(got[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(got[i], expected[i], tolerance) << "at " << i;
  }
}

TEST(Elementwise, Unary) {
  expectNear(evaluateUnary("neg", {1, -2}), {-1, 2});
  expectNear(evaluateUnary("rsqrt", {4, 0.25}), {0.5, 2});
  expectNear(evaluateUnary("erf", {0, 1}), {0, 0.842700792949715});
  expectNear(evaluateUnary("floor", {-1.5, 1.5}), {-2, 1});
  expectNear(evaluateUnary("ceil", {-1.5, 1.5}), {-1, 2});
  expectNear(evaluateUnary("round", {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.51, 1e9}), {-2, -2, 0, 0, 2, 2, 3, 1e9});
  expectNear(evaluateUnary("round", {notANumber}), {notANumber});
  expectNear(evaluateUnary("sign", {-3, 0, 5, notANumber}), {-1, 0, 1, notANumber});
  expectNear(evaluateUnary("not", {0, 1}, "i1"), {1, 0});
}

TEST(Elementwise, MaxAndMinOfNaNAreNaN) {
  expectNear(evaluateBinary("max", {notANumber, 1, 2}, {1, notANumber, 3}), {notANumber, notANumber, 3});
  expectNear(evaluateBinary("min", {notANumber, 1, 2}, {1, notANumber, 3}), {notANumber, notANumber, 2});
}

TEST(Elementwise, DivisionOfIntegersRoundsDown) {
  expectNear(evaluateBinary("floordiv", {7, -7, 7, -7}, {2, 2, -2, -2}, "i32"), {3, -4, -4, 3});
  expectNear(evaluateBinary("mod", {7, -7, 7, -7}, {2, 2, -2, -2}, "i32"), {1, 1, -1, -1});
}

TEST(Elementwise, IntegersWrap) {
  expectNear(evaluateBinary("add", {2147483647}, {1}, "i32"), {-2147483648.0});
  expectNear(evaluateBinary("mul", {65536}, {65537}, "i32"), {65536});
}

TEST(Elementwise, BroadcastsByName) {
  std::string a = vec(2, "f32", "a"), b = vec(3, "f32", "b"), both = "!tsr.tensor<[a: 2, b: 3], f32>";
  expectNear(evaluate("%a: " + a + ", %b: " + b, both, "%r = tsr.sub %a, %b : (" + a + ", " + b + ") -> " + both,
                      {{10, 20}, {1, 2, 3}}),
             {9, 8, 7, 19, 18, 17});
  // The order of the axes in the result's type is only where the numbers lie.
  std::string other = "!tsr.tensor<[b: 3, a: 2], f32>";
  expectNear(evaluate("%a: " + a + ", %b: " + b, other, "%r = tsr.sub %a, %b : (" + a + ", " + b + ") -> " + other,
                      {{10, 20}, {1, 2, 3}}),
             {9, 19, 8, 18, 7, 17});
}

TEST(Elementwise, ComparisonWithNaNIsFalseButForNe) {
  std::string x = vec(1), bit = vec(1, "i1");
  for (std::string predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
    expectNear(evaluate("%x: " + x, bit, "%r = tsr.compare " + predicate + " %x, %x : (" + x + ", " + x + ") -> " + bit,
                        {{notANumber}}),
               {predicate == "ne" ? 1.0 : 0.0});
}

TEST(Elementwise, CastToIntegerTruncates) {
  std::string body = "%r = tsr.cast %x : " + vec(4) + " to " + vec(4, "i32");
  expectNear(evaluate("%x: " + vec(4), vec(4, "i32"), body, {{1.9, -1.9, 0.2, -0.2}}), {1, -1, 0, 0});
  expectNear(evaluate("%x: " + vec(4), vec(4, "i32"), body, {{infinity, -1e12, notANumber, 0x1p31}}),
             {2147483647, -2147483648.0, 0, 2147483647});
  body = "%r = tsr.cast %x : " + vec(3) + " to " + vec(3, "i1");
  expectNear(evaluate("%x: " + vec(3), vec(3, "i1"), body, {{0, 0.1, -3}}), {0, 1, 1});
}

TEST(Elementwise, CastToEightBitsSaturates) {
  std::string body = "%r = tsr.cast %x : " + vec(6) + " to " + vec(6, "f8E4M3FN");
  expectNear(
      evaluate("%x: " + vec(6), vec(6, "f8E4M3FN"), body, {{447, -1e9, infinity, 0.0009, 0.0011, 17}}, Rounding::Types),
      {448, -448, 448, 0, 0x1p-9, 16}, 0);
  body = "%r = tsr.cast %x : " + vec(4) + " to " + vec(4, "f8E5M2");
  expectNear(evaluate("%x: " + vec(4), vec(4, "f8E5M2"), body, {{1e9, -infinity, 9, 0x1p-16}}, Rounding::Types),
             {57344, -57344, 8, 0x1p-16}, 0);
}

TEST(Rounding, TypesRoundEveryResult) {
  std::string wide = vec(1), narrow = vec(1, "bf16");
  std::string body = "%r = tsr.cast %x : " + wide + " to " + narrow;
  expectNear(evaluate("%x: " + wide, narrow, body, {{1.001}}, Rounding::Double), {1.001});
  expectNear(evaluate("%x: " + wide, narrow, body, {{1.001}}, Rounding::Types), {1.0});
  body = "%r = tsr.add %x, %x : (" + wide + ", " + wide + ") -> " + wide;
  expectNear(evaluate("%x: " + wide, wide, body, {{0.1}}, Rounding::Types), {static_cast<float>(0.2)}, 0);
}

TEST(Sources, Philox) {
  // The known answer of Random123 for a zero counter and a zero key: 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  std::string arguments = "%s: !tsr.tensor<[], i64>, %t: !tsr.tensor<[], i32>",
              types = "(!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> ";
  auto uniform =
      evaluate(arguments, vec(1), "%r = tsr.random uniform site 0 seed %s step %t : " + types + vec(1), {{0}, {0}});
  expectNear(uniform, {0x6627e8 * 0x1p-24});
  auto normal =
      evaluate(arguments, vec(1), "%r = tsr.random normal site 0 seed %s step %t : " + types + vec(1), {{0}, {0}});
  expectNear(normal,
             {std::sqrt(-2 * std::log((0x6627e8 + 1) * 0x1p-24)) * std::cos(2 * std::acos(-1.0) * 0xe169c5 * 0x1p-24)});
}

TEST(Sources, DrawsFollowTheCanonicalOrder) {
  std::string arguments = "%s: !tsr.tensor<[], i64>, %t: !tsr.tensor<[], i32>",
              types = ": (!tsr.tensor<[], i64>, !tsr.tensor<[], i32>) -> ";
  std::string rows = "!tsr.tensor<[a: 2, b: 3], f32>", columns = "!tsr.tensor<[b: 3, a: 2], f32>";
  auto draw = [&](const std::string &type) {
    return evaluate(arguments, type,
                    "%r = tsr.random uniform site 7 seed %s step %t {canonical = [\"a\", \"b\"]} " + types + type,
                    {{-5}, {3}});
  };
  std::vector<double> x = draw(rows);
  expectNear(draw(columns), {x[0], x[3], x[1], x[4], x[2], x[5]});
}

TEST(Sources, DrawsOfLeavesHaveSaltsOfTheirOwn) {
  const std::string i32 = "!tsr.tensor<[], i32>", result = "!tsr.tensor<[leaf: 2, a: 3], f32>";
  std::vector<double> leaves = evaluate(
      "%salt: " + vec(2, "i32", "leaf"), result,
      "%seed = tsr.constant 7 -> !tsr.tensor<[], i64>\n%step = tsr.constant 3 -> " + i32 +
          "\n%r = tsr.random uniform site 5 seed %seed step %step salts %salt strides {a = 1 : i64, leaf = 0 : i64} : "
          "(!tsr.tensor<[], i64>, " +
          i32 + ", " + vec(2, "i32", "leaf") + ") -> " + result,
      {{4, 9}});
  std::vector<double> one;
  for (double salt : {4, 9}) {
    std::vector<double> draws =
        evaluate("%salt: " + i32, vec(3),
                 "%seed = tsr.constant 7 -> !tsr.tensor<[], i64>\n%step = tsr.constant 3 -> " + i32 +
                     "\n%r = tsr.random uniform site 5 seed %seed step %step salts %salt : "
                     "(!tsr.tensor<[], i64>, " +
                     i32 + ", " + i32 + ") -> " + vec(3),
                 {{salt}});
    one.insert(one.end(), draws.begin(), draws.end());
  }
  EXPECT_EQ(leaves, one);
}

TEST(Reductions, InATreeAddNeighboursFirst) {
  auto sum = [](const std::string &mark) {
    return evaluate("%x: " + vec(4, "f64"), "!tsr.tensor<[], f64>",
                    "%r = tsr.reduce sum %x over [a] " + mark + " : " + vec(4, "f64") + " -> !tsr.tensor<[], f64>",
                    {{1e16, 1, -1e16, 1}});
  };
  EXPECT_EQ(sum(""), std::vector<double>{1}) << "((1e16 + 1) - 1e16) + 1, where 1e16 + 1 is 1e16";
  EXPECT_EQ(sum("{tsr.tree}"), std::vector<double>{0}) << "(1e16 + 1) + (-1e16 + 1)";
}

TEST(Reductions, OverNamedAxes) {
  std::string x = "!tsr.tensor<[a: 2, b: 3], f32>", y = "!tsr.tensor<[b: 3], f32>";
  auto reduce = [&](const std::string &kind, const std::vector<double> &data) {
    return evaluate("%x: " + x, y, "%r = tsr.reduce " + kind + " %x over [\"a\"] : " + x + " -> " + y, {data});
  };
  expectNear(reduce("sum", {1, 2, 3, 4, 5, 6}), {5, 7, 9});
  expectNear(reduce("max", {1, 5, notANumber, 4, 2, 6}), {4, 5, notANumber});
  expectNear(reduce("min", {1, 5, -infinity, 4, 2, 6}), {1, 2, -infinity});
}

TEST(Contractions, SumOverSharedAxesWithInitAndBias) {
  std::string x = "!tsr.tensor<[a: 2, k: 2], f32>", w = "!tsr.tensor<[k: 2, b: 2], f32>",
              y = "!tsr.tensor<[b: 2, a: 2], f32>", b = vec(2, "f32", "b");
  // x = [1 2; 3 4], w = [5 6; 7 8]: x w = [19 22; 43 50], stored with b outermost.
  expectNear(evaluate("%x: " + x + ", %w: " + w, y,
                      "%r = tsr.contract %x, %w over [\"k\"] : (" + x + ", " + w + ") -> " + y,
                      {{1, 2, 3, 4}, {5, 6, 7, 8}}),
             {19, 43, 22, 50});
  expectNear(evaluate("%x: " + x + ", %w: " + w + ", %i: " + y + ", %b: " + b, y,
                      "%r = tsr.contract %x, %w over [\"k\"] init %i bias %b : (" + x + ", " + w + ", " + y + ", " + b +
                          ") -> " + y,
                      {{1, 2, 3, 4}, {5, 6, 7, 8}, {1000, 2000, 3000, 4000}, {100, 200}}),
             {1119, 2143, 3222, 4250});
}

TEST(Contractions, EpiloguesWithGelu) {
  std::string x = "!tsr.tensor<[a: 2, k: 1], f32>", w = "!tsr.tensor<[k: 1, b: 2], f32>",
              y = "!tsr.tensor<[a: 2, b: 2], f32>", b = vec(2, "f32", "b");
  auto run = [&](const std::string &arguments, const std::string &op, const std::string &results, const Numbers &in) {
    TextProgram program("func.func @f(%x: " + x + ", %w: " + w + arguments + ") -> (" + results +
                        ") {\n%r, %s = " + op + " -> (" + results + ")\nreturn %r, %s : " + results + "\n}");
    return program.run("f", in, Rounding::Double);
  };
  // x w + b = [1 -1; 2 0], and GELU of it.
  Numbers forward =
      run(", %b: " + b, "tsr.contract %x, %w over [\"k\"] bias %b epilogue gelu : (" + x + ", " + w + ", " + b + ")",
          y + ", " + y, {{1, 2}, {1, 1}, {0, -2}});
  ASSERT_EQ(forward.size(), 2u);
  expectNear(forward[0], {0.8411919906, -0.1588080094, 1.9545976941, 0}, 1e-9);
  expectNear(forward[1], {1, -1, 2, 0});
  // x w = [3 3; -1 -1] times the derivatives at 0, 1, -1 and 0, and the sum of that over a.
  Numbers backward = run(
      ", %at: " + y, "tsr.contract %x, %w over [\"k\"] epilogue gelu_grad aux %at : (" + x + ", " + w + ", " + y + ")",
      y + ", " + b, {{3, -1}, {1, 1}, {0, 1, -1, 0}});
  ASSERT_EQ(backward.size(), 2u);
  double slope = 1.0829640838, other = -0.0829640838;
  expectNear(backward[0], {1.5, 3 * slope, -other, -0.5}, 1e-9);
  expectNear(backward[1], {1.5 - other, 3 * slope - 0.5}, 1e-9);
}

TEST(Axes, SplitAndMergeAreMajorFirst) {
  std::string flat = vec(6, "f32", "f"), parts = "!tsr.tensor<[b: 3, a: 2], f32>";
  // f = 3 a + b
  expectNear(evaluate("%x: " + flat, parts, "%r = tsr.split %x \"f\" into [\"a\", \"b\"] : " + flat + " -> " + parts,
                      {{0, 1, 2, 3, 4, 5}}),
             {0, 3, 1, 4, 2, 5});
  expectNear(evaluate("%x: " + parts, flat, "%r = tsr.merge %x [\"a\", \"b\"] into \"f\" : " + parts + " -> " + flat,
                      {{0, 3, 1, 4, 2, 5}}),
             {0, 1, 2, 3, 4, 5});
}

TEST(Axes, RenameMaySwap) {
  std::string x = "!tsr.tensor<[a: 2, b: 2], f32>";
  expectNear(evaluate("%x: " + x, x, "%r = tsr.rename %x [\"a\", \"b\"] to [\"b\", \"a\"] : " + x + " -> " + x,
                      {{1, 2, 3, 4}}),
             {1, 3, 2, 4});
}

/// The parts follow each other along the axis: here row by row.
TEST(Axes, Join) {
  std::string a = "!tsr.tensor<[b: 2, a: 1], f32>", b = "!tsr.tensor<[b: 2, a: 2], f32>",
              whole = "!tsr.tensor<[b: 2, a: 3], f32>";
  std::string join = "%r = tsr.join %x, %y along a : (" + a + ", " + b + ") -> " + whole;
  expectNear(evaluate("%x: " + a + ", %y: " + b, whole, join, {{1, 2}, {3, 4, 5, 6}}), {1, 3, 4, 2, 5, 6});
}

TEST(Axes, SliceAndPad) {
  expectNear(
      evaluate("%x: " + vec(4), vec(2), "%r = tsr.slice %x \"a\" from 1 : " + vec(4) + " -> " + vec(2), {{1, 2, 3, 4}}),
      {2, 3});
  expectNear(evaluate("%x: " + vec(2), vec(4), "%r = tsr.pad %x \"a\" at 1 : " + vec(2) + " -> " + vec(4), {{1, 2}}),
             {0, 1, 2, 0});
}

TEST(Axes, GatherClampsAndScatterAddDrops) {
  std::string at = vec(4, "i32", "s"), updates = vec(4, "f32", "s");
  expectNear(evaluate("%x: " + vec(3) + ", %i: " + at, updates,
                      "%r = tsr.gather %x[[\"a\"] = %i] : (" + vec(3) + ", " + at + ") -> " + updates,
                      {{1, 2, 3}, {-1, 0, 2, 7}}),
             {1, 1, 3, 3});
  expectNear(evaluate("%x: " + updates + ", %i: " + at, vec(3),
                      "%r = tsr.scatter_add %x[[\"a\"] = %i] : (" + updates + ", " + at + ") -> " + vec(3),
                      {{1, 2, 4, 8}, {-1, 0, 0, 3}}),
             {6, 0, 0});
}

TEST(Axes, GatherAlignsSharedAxes) {
  // y[b] = x[b, a = i[b]]
  std::string x = "!tsr.tensor<[b: 2, a: 3], f32>", at = vec(2, "i32", "b"), y = vec(2, "f32", "b");
  expectNear(evaluate("%x: " + x + ", %i: " + at, y,
                      "%r = tsr.gather %x[[\"a\"] = %i] : (" + x + ", " + at + ") -> " + y,
                      {{1, 2, 3, 4, 5, 6}, {2, 0}}),
             {3, 4});
}

TEST(Composites, SoftmaxOfAMaskedRowIsZero) {
  std::string x = "!tsr.tensor<[b: 2, a: 2], f32>";
  expectNear(evaluate("%x: " + x, x, "%r = tsr.softmax %x over \"a\" : " + x, {{0, std::log(3), -infinity, -infinity}}),
             {0.25, 0.75, 0, 0});
}

TEST(Composites, SoftmaxOfARowWithNaNIsNaN) {
  std::string x = "!tsr.tensor<[b: 2, a: 2], f32>";
  expectNear(evaluate("%x: " + x, x, "%r = tsr.softmax %x over \"a\" : " + x, {{0, notANumber, notANumber, -infinity}}),
             {notANumber, notANumber, notANumber, notANumber});
}

TEST(Composites, LayerNorm) {
  // mean 3, variance 4
  std::string body = "%r, %s = tsr.layer_norm %x over [\"a\"] epsilon 0.0 : " + vec(2) + ", !tsr.tensor<[], f32>";
  expectNear(evaluate("%x: " + vec(2), vec(2), body, {{1, 5}}), {-1, 1});
}

TEST(Composites, CrossEntropyIsInNats) {
  std::string x = "!tsr.tensor<[b: 2, v: 2], f32>", label = vec(2, "i32", "b"), loss = vec(2, "f32", "b");
  std::string body = "%r, %m, %n = tsr.cross_entropy %x, %i over \"v\" : (" + x + ", " + label + ") -> (" + loss +
                     ", " + loss + ", " + loss + ")";
  expectNear(evaluate("%x: " + x + ", %i: " + label, loss, body, {{0, std::log(3), 0, 0}, {0, 1}}),
             {std::log(4), std::log(2)});
}

TEST(Composites, AttentionWithACausalMask) {
  std::string q = "!tsr.tensor<[s: 2, h: 1], f32>", k = "!tsr.tensor<[k: 2, h: 1], f32>",
              s = "!tsr.tensor<[s: 2, k: 2], f32>";
  std::string body = "%r, %l, %n = tsr.attention %q, %k, %v hidden [\"h\"] key \"k\" : (" + q + ", " + k + ", " + k +
                     ") -> (" + q + ", " + vec(2, "f32", "s") + ", " + vec(2, "f32", "s") + ") {\n" + "^bb0(%x: " + s +
                     "):\n%i = tsr.index : " + vec(2, "i32", "s") + "\n%j = tsr.index : " + vec(2, "i32", "k") +
                     "\n%m = tsr.compare ge %i, %j : (" + vec(2, "i32", "s") + ", " + vec(2, "i32", "k") +
                     ") -> !tsr.tensor<[s: 2, k: 2], i1>\n" +
                     "%n = tsr.constant 0xFF800000 : f32 -> !tsr.tensor<[], f32>\n" +
                     "%y = tsr.select %m, %x, %n : (!tsr.tensor<[s: 2, k: 2], i1>, " + s +
                     ", !tsr.tensor<[], f32>) -> " + s + "\ntsr.yield %y : " + s + "\n}";
  // The first row sees only key 0; the scores of the second are 0 and log 3.
  expectNear(evaluate("%q: " + q + ", %k: " + k + ", %v: " + k, q, body, {{5, 1}, {0, std::log(3)}, {10, 20}}),
             {10, 17.5});
}

TEST(Structure, RepeatCarriesSlicesAndStacks) {
  TextProgram program(R"(func.func @f(%x: !tsr.tensor<[], f32>, %w: !tsr.tensor<[l: 3], f32>, %m: !tsr.tensor<[], f32>)
      -> (!tsr.tensor<[], f32>, !tsr.tensor<[l: 3], f32>) {
    %y, %ys = tsr.repeat [l: 3] index %i
        carry (%c = %x : !tsr.tensor<[], f32>) slice (%s = %w : !tsr.tensor<[l: 3], f32>)
        invariant (%k = %m : !tsr.tensor<[], f32>) -> (!tsr.tensor<[], f32>, !tsr.tensor<[l: 3], f32>) {
      %a = tsr.mul %c, %k : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
      %b = tsr.add %a, %s : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
      tsr.yield %b, %c : !tsr.tensor<[], f32>, !tsr.tensor<[], f32>
    }
    return %y, %ys : !tsr.tensor<[], f32>, !tsr.tensor<[l: 3], f32>
  }
  func.func @g(%x: !tsr.tensor<[], f32>, %w: !tsr.tensor<[l: 3], f32>)
      -> (!tsr.tensor<[], f32>, !tsr.tensor<[l: 3], i32>) {
    %y, %is = tsr.repeat [l: 3] reverse index %i
        carry (%c = %x : !tsr.tensor<[], f32>) slice (%s = %w : !tsr.tensor<[l: 3], f32>)
        -> (!tsr.tensor<[], f32>, !tsr.tensor<[l: 3], i32>) {
      %b = tsr.sub %s, %c : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
      tsr.yield %b, %i : !tsr.tensor<[], f32>, !tsr.tensor<[], i32>
    }
    return %y, %is : !tsr.tensor<[], f32>, !tsr.tensor<[l: 3], i32>
  })");
  Numbers forward = program.run("f", {{1}, {1, 2, 3}, {10}});
  expectNear(forward[0], {1123});
  expectNear(forward[1], {1, 11, 112});
  Numbers backward = program.run("g", {{0}, {1, 20, 300}});
  expectNear(backward[0], {1 - (20 - 300.0)});
  expectNear(backward[1], {0, 1, 2});
}

TEST(Structure, WhatAPassMustWriteOutIsRefused) {
  TextProgram program(R"(func.func @f(%x: !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32> {
    %g = tsr.gradient %x wrt (%x) : (!tsr.tensor<[], f32>, !tsr.tensor<[], f32>) -> !tsr.tensor<[], f32>
    return %g : !tsr.tensor<[], f32>
  })");
  auto function = program.getModule().lookupSymbol<mlir::func::FuncOp>("f");
  TensorValue x(mlir::cast<NamedTensorType>(function.getArgumentTypes()[0]));
  std::string message;
  mlir::ScopedDiagnosticHandler handler(function.getContext(), [&](mlir::Diagnostic &d) { message = d.str(); });
  EXPECT_TRUE(mlir::failed(Interpreter().run(function, x)));
  EXPECT_EQ(message, "'tsr.gradient' op cannot be interpreted: a pass must replace it first");
}
