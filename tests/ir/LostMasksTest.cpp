//===- LostMasksTest.cpp - selects whose gradient may be NaN --------------===//

#include "tests/ir/VectorProgram.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int countLostMasks(Build build) { return VectorProgram(2, 3, build).countLostMasks(); }

TEST(LostMasks, AreReportedWhereAContractionLosesThem) {
  auto where = [](GraphBuilder &b, Value guard, Value guarded) {
    return b.select(isPositive(b, b.reduce(ReduceKind::Min, guard, {"a"})), guarded, zero(b));
  };
  EXPECT_EQ(countLostMasks(
                [&](GraphBuilder &b, ValueRange x) { return where(b, x[0], b.contract(b.sqrt(x[0]), x[1], {"a"})); }),
            1);
  EXPECT_EQ(countLostMasks([&](GraphBuilder &b, ValueRange x) {
              return where(b, b.add(x[0], 2), b.contract(b.div(x[1], b.mul(x[0], 3)), x[1], {"a"}));
            }),
            1);
  // The numerator may be anything; the operand is guarded itself; the condition has nothing to do with the operand; a
  // reduction keeps the mask.
  EXPECT_EQ(countLostMasks([&](GraphBuilder &b, ValueRange x) {
              return where(b, x[1], b.contract(b.div(x[1], x[0]), x[1], {"a"}));
            }),
            0);
  EXPECT_EQ(countLostMasks([&](GraphBuilder &b, ValueRange x) {
              Value inside = b.select(isPositive(b, x[0]), x[0], b.scalar(1, b.getF64Type()));
              return where(b, x[0], b.contract(b.sqrt(inside), x[1], {"a"}));
            }),
            0);
  EXPECT_EQ(countLostMasks(
                [&](GraphBuilder &b, ValueRange x) { return where(b, x[1], b.contract(b.sqrt(x[0]), x[1], {"a"})); }),
            0);
  EXPECT_EQ(countLostMasks([&](GraphBuilder &b, ValueRange x) { return where(b, x[0], b.sum(b.sqrt(x[0]), {"a"})); }),
            0);
}

/// `where(min(x) > 0, guarded, 0)`.
static Value whereRow(GraphBuilder &b, Value x, Value guarded) {
  return where(b, b.reduce(ReduceKind::Min, x, {"a"}), guarded);
}

TEST(LostMasks, AreReportedBehindSeveralMixers) {
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              Value first = b.contract(b.rename(b.sqrt(x[0]), {"a"}, {"b"}), b.rename(x[1], {"a"}, {"b"}), {"b"});
              return whereRow(b, x[0], b.contract(b.mul(x[1], first), x[1], {"a"}));
            }),
            1);
  // The function is guarded nearer by.
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              return whereRow(b, x[0], b.contract(where(b, x[0], b.sqrt(x[0])), x[1], {"a"}));
            }),
            0);
}

TEST(LostMasks, AreReportedOfARepeatAndInsideOfIt) {
  // The function is in the body, the select outside.
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              Value y = repeat(b, "layer", {{x[1]}, {}, {x[0]}}, [](GraphBuilder &b, ValueRange in) {
                return SmallVector<Value>{b.mul(in[0], b.sqrt(in[1]))};
              })[0];
              return where(b, x[0], y);
            }),
            1);
  // The select is in the body, the function outside, a contraction between the two.
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              return repeat(b, "layer", {{x[1]}, {}, {x[0], b.log(x[0])}}, [](GraphBuilder &b, ValueRange in) {
                Value sum = whereRow(b, in[1], b.contract(in[2], in[0], {"a"}));
                return SmallVector<Value>{b.add(in[0], sum)};
              })[0];
            }),
            1);
  // The repeat carries what the function has computed. Without that the mask is not lost.
  auto build = [](bool isCarried) {
    return [=](GraphBuilder &b, ValueRange x) -> Value {
      Value log = b.log(x[0]);
      return repeat(b, "layer", {{isCarried ? log : x[1]}, {}, {x[0], log}}, [&](GraphBuilder &b, ValueRange in) {
        return SmallVector<Value>{where(b, in[1], b.mul(in[2], in[0]))};
      })[0];
    };
  };
  EXPECT_EQ(countLostMasks(build(true)), 1);
  EXPECT_EQ(countLostMasks(build(false)), 0);
}

TEST(LostMasks, AreReportedWhereTheGuardIsComputedByTheFunction) {
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              Value root = b.sqrt(x[0]);
              return whereRow(b, root, b.contract(root, x[1], {"a"}));
            }),
            1);
}

TEST(LostMasks, AreNotReportedWhereNothingCanBeLost) {
  // A leaky ReLU has a gradient on both sides.
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              Value y = b.add(x[0], b.contract(b.exp(x[0]), x[1], {"a"}));
              return b.select(isPositive(b, y), y, b.mul(y, 0.01));
            }),
            0);
  // A mean over what a mask leaves, whose divisor is positive.
  EXPECT_EQ(countLostMasks([](GraphBuilder &b, ValueRange x) {
              Value mask = b.cast(isPositive(b, x[0]), b.getF64Type()), count = b.sum(mask, {"a"});
              Value pooled = b.div(b.mul(x[0], mask), b.add(count, 1e-6));
              return where(b, count, b.contract(pooled, x[1], {"a"}));
            }),
            0);
}
