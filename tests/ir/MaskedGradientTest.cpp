//===- MaskedGradientTest.cpp - gradients of what a select does not take --===//
//
// `where(c, f(z), 0)` has the gradient 0 where c does not hold, whatever f and its derivative are there. Elements 0 and
// 1 of the vectors are those where `where` does not take the side with the function, element 2 that where it does.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/BinaryFunction.h"
#include "ir/dialect/UnaryFunction.h"
#include "tests/ir/VectorProgram.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// The gradients at `inputs`. Those that are finite agree with differences.
static Numbers gradients(const Numbers &inputs, Build build) {
  VectorProgram program(inputs.size(), inputs.front().size(), build);
  program.differentiate();
  Numbers found = program.run(inputs);
  found.erase(found.begin());
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t j = 0; j < inputs[i].size(); ++j) {
      if (!std::isfinite(found[i][j])) continue;
      constexpr double step = 1e-6;
      Numbers above = inputs, below = inputs;
      above[i][j] += step, below[i][j] -= step;
      double difference = (program.run(above)[0][0] - program.run(below)[0][0]) / (2 * step);
      if (std::isfinite(difference)) EXPECT_NEAR(found[i][j], difference, 1e-4 * (1 + std::abs(difference)));
    }
  return found;
}

static const std::vector<double> guard = {-1, -1, 1};

/// Operands that are at the edge of a domain, outside of it, or so large that a function overflows.
static const double hostile[] = {0, -0.0, -1, 1, -2.5, 1000, -1000, 1e-200, -1e-200, 1e200, -1e200};

TEST(MaskedGradient, OfEveryFunctionOfOneOperand) {
  for (const UnaryFunction &f : unaryFunctions()) {
    if (!f.isDifferentiable) continue;
    for (double bad : hostile) {
      SCOPED_TRACE(f.op.str() + " at " + std::to_string(bad));
      Numbers found = gradients({guard, {bad, -bad, 0.8 * f.sampleHigh}},
                                [&](GraphBuilder &b, ValueRange x) { return where(b, x[0], f.build(b, x[1])); });
      EXPECT_EQ(found[0], (std::vector<double>{0, 0, 0}));
      EXPECT_EQ(found[1][0], 0);
      EXPECT_EQ(found[1][1], 0);
      EXPECT_TRUE(std::isfinite(found[1][2]));
    }
  }
}

/// Functions with a limited domain.
static Value (*const partials[])(GraphBuilder &, Value) = {
    [](GraphBuilder &b, Value x) { return b.sqrt(x); },
    [](GraphBuilder &b, Value x) { return b.rsqrt(x); },
    [](GraphBuilder &b, Value x) { return b.log(x); },
    [](GraphBuilder &b, Value x) { return b.unary<Log1pOp>(x); },
    [](GraphBuilder &b, Value x) { return b.div(b.scalar(1, b.getF64Type()), x); },
    [](GraphBuilder &b, Value x) { return b.pow(x, b.scalar(-1.5, b.getF64Type())); },
    [](GraphBuilder &b, Value x) { return b.pow(b.scalar(-2, b.getF64Type()), x); },
    [](GraphBuilder &b, Value x) { return b.exp(x); },
};

TEST(MaskedGradient, OfEveryFunctionOfAFunctionOfLimitedDomain) {
  for (const UnaryFunction &f : unaryFunctions()) {
    if (!f.isDifferentiable) continue;
    for (auto partial : partials)
      for (double bad : hostile) {
        SCOPED_TRACE(f.op.str() + " at " + std::to_string(bad));
        Numbers found = gradients({guard, {bad, -bad, 0.8}}, [&](GraphBuilder &b, ValueRange x) {
          return where(b, x[0], f.build(b, partial(b, x[1])));
        });
        EXPECT_EQ(found[1][0], 0);
        EXPECT_EQ(found[1][1], 0);
      }
  }
}

TEST(MaskedGradient, OfEveryFunctionOfTwoOperands) {
  for (const BinaryFunction &f : binaryFunctions()) {
    if (!f.isDifferentiable) continue;
    for (double bad : hostile)
      for (double other : hostile) {
        SCOPED_TRACE(f.op.str() + " of " + std::to_string(bad) + " and " + std::to_string(other));
        Numbers inputs = {guard, {bad, other, 1.5}, {other, bad, 0.4}};
        Numbers found =
            gradients(inputs, [&](GraphBuilder &b, ValueRange x) { return where(b, x[0], f.build(b, x[1], x[2])); });
        for (int operand : {1, 2})
          for (int element : {0, 1}) EXPECT_EQ(found[operand][element], 0) << "operand " << operand;
      }
  }
}

TEST(MaskedGradient, OfEveryFunctionOfTwoOperandsThatMayBeNaN) {
  for (const BinaryFunction &f : binaryFunctions()) {
    if (!f.isDifferentiable) continue;
    for (auto partial : partials)
      for (bool isLeft : {true, false}) {
        SCOPED_TRACE(f.op.str());
        Numbers found = gradients({guard, {-1, 0, 1.5}, {2, 0, 0.4}}, [&](GraphBuilder &b, ValueRange x) {
          Value side = partial(b, x[1]);
          return where(b, x[0], isLeft ? f.build(b, side, x[2]) : f.build(b, x[2], side));
        });
        for (int operand : {1, 2})
          for (int element : {0, 1}) EXPECT_EQ(found[operand][element], 0) << "operand " << operand;
      }
  }
}

TEST(MaskedGradient, OfTheSideAfterTheCondition) {
  Numbers found = gradients({{-1, -0.5, 4}}, [&](GraphBuilder &b, ValueRange x) {
    Value isNegative = b.compare(Predicate::LE, x[0], zero(b));
    return b.select(isNegative, x[0], b.sqrt(x[0]));
  });
  EXPECT_EQ(found, (Numbers{{1, 1, 0.25}}));
}

TEST(MaskedGradient, InNestedSelects) {
  // sqrt(x - 1) where x > 1, log(x) where 0 < x <= 1, else x.
  Numbers found = gradients({{-1, 0.5, 5}}, [&](GraphBuilder &b, ValueRange x) {
    Value one = b.scalar(1, b.getF64Type());
    Value inner = b.select(b.compare(Predicate::GT, x[0], one), b.sqrt(b.sub(x[0], one)), b.log(x[0]));
    return b.select(isPositive(b, x[0]), inner, x[0]);
  });
  EXPECT_EQ(found, (Numbers{{1, 2, 0.25}}));
}

TEST(MaskedGradient, OfAValueThatTwoSelectsUse) {
  Numbers found = gradients({{-1, 0.25, 4}}, [&](GraphBuilder &b, ValueRange x) {
    Value root = b.sqrt(x[0]);
    return b.add(where(b, x[0], root), where(b, b.sub(x[0], b.scalar(1, b.getF64Type())), root));
  });
  EXPECT_EQ(found, (Numbers{{0, 1, 0.5}}));
}

TEST(MaskedGradient, OfAValueThatIsUsedElsewhereToo) {
  // The gradient of x^2 is not masked; that of sqrt(x^2 - 4) is.
  Numbers found = gradients({{-1, 0, 3}}, [&](GraphBuilder &b, ValueRange x) {
    Value square = b.mul(x[0], x[0]), shifted = b.add(square, -4);
    return b.add(square, where(b, shifted, b.sqrt(shifted)));
  });
  EXPECT_EQ(found[0][0], -2);
  EXPECT_EQ(found[0][1], 0);
  EXPECT_NEAR(found[0][2], 6 + 3 / std::sqrt(5), 1e-12);
}

TEST(MaskedGradient, OfAFactorThatIsBroadcast) {
  // The scalar is a factor of NaN at two of three points.
  Numbers found = gradients({{-1, -2, 4}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
    Value scale = b.sum(x[1], {"a"});
    return where(b, x[0], b.mul(b.sqrt(x[0]), scale));
  });
  EXPECT_EQ(found, (Numbers{{0, 0, 1.5}, {2, 2, 2}}));
}

TEST(MaskedGradient, AcrossRenamesSlicesGathersAndReductions) {
  Numbers found = gradients({{-1, -2, 4}}, [&](GraphBuilder &b, ValueRange x) {
    Value root = b.rename(b.sqrt(x[0]), {"a"}, {"b"}), z = b.rename(x[0], {"a"}, {"b"});
    return where(b, z, root);
  });
  EXPECT_EQ(found, (Numbers{{0, 0, 0.25}}));
  found = gradients({{-1, 4, -2}}, [&](GraphBuilder &b, ValueRange x) {
    auto move = [&](Value value) { return b.pad(b.slice(value, "a", 0, 2), "a", 1, 3); };
    return where(b, move(x[0]), move(b.sqrt(x[0])));
  });
  EXPECT_EQ(found, (Numbers{{0, 0.25, 0}}));
  found = gradients({{-1, 4, -2}}, [&](GraphBuilder &b, ValueRange x) {
    Value position = b.broadcast(b.scalar(1, b.getI32Type()), b.type(axis(b.getContext(), "c", 2), b.getI32Type()));
    auto read = [&](Value value) { return b.gather(value, {"a"}, position); };
    return where(b, read(x[0]), read(b.sqrt(x[0])));
  });
  EXPECT_EQ(found, (Numbers{{0, 0.5, 0}}));
}

TEST(MaskedGradient, OfARowOfWhichAnElementIsOutOfTheDomain) {
  for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
    auto build = [&](GraphBuilder &b, ValueRange x) {
      return where(b, b.reduce(ReduceKind::Min, x[0], {"a"}), b.reduce(kind, b.sqrt(x[0]), {"a"}));
    };
    EXPECT_EQ(gradients({{-1, 1, 4}}, build), (Numbers{{0, 0, 0}}));
    Numbers taken = gradients({{1, 2.25, 4}}, build);
    for (double number : taken[0]) EXPECT_TRUE(std::isfinite(number));
  }
}

//===----------------------------------------------------------------------===//
// Across the borders of regions
//===----------------------------------------------------------------------===//

TEST(MaskedGradient, OfAFunctionOutsideOfARepeat) {
  for (auto partial : partials) {
    Numbers found = gradients({{-1, -2, 4}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
      return repeat(b, "layer", {{x[1]}, {}, {x[0], x[1], partial(b, x[0])}}, [](GraphBuilder &b, ValueRange in) {
        return SmallVector<Value>{b.add(in[0], where(b, in[1], b.mul(in[3], in[2])))};
      })[0];
    });
    EXPECT_EQ(found[0][0], 0);
    EXPECT_EQ(found[0][1], 0);
    EXPECT_EQ(found[1][0], 1);
    EXPECT_EQ(found[1][1], 1);
    for (const auto &row : found) EXPECT_TRUE(std::isfinite(row[2]));
  }
}

TEST(MaskedGradient, OfAFunctionThatARepeatSlices) {
  Numbers found = gradients({{-1, -2, 4}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
    Value roots = b.broadcast(b.sqrt(x[0]), b.type(axis(b.getContext(), "layer", 2), b.getF64Type()));
    return repeat(b, "layer", {{x[1]}, {roots}, {x[0]}}, [](GraphBuilder &b, ValueRange in) {
      return SmallVector<Value>{where(b, in[2], b.mul(in[1], in[0]))};
    })[0];
  });
  EXPECT_EQ(found, (Numbers{{0, 0, 3}, {0, 0, 4}}));
}

TEST(MaskedGradient, OfAFunctionOutsideOfTwoRepeats) {
  Numbers found = gradients({{-1, -2, 4}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
    return repeat(b, "layer", {{x[1]}, {}, {x[0], b.sqrt(x[0])}}, [](GraphBuilder &b, ValueRange in) {
      ValueRange inner = repeat(b, "inner", {{in[0]}, {}, {in[1], in[2]}}, [](GraphBuilder &b, ValueRange in) {
        return SmallVector<Value>{where(b, in[1], b.mul(in[2], in[0]))};
      });
      return SmallVector<Value>{inner[0]};
    })[0];
  });
  EXPECT_EQ(found, (Numbers{{0, 0, 24}, {0, 0, 16}}));
}

/// The second iteration reads a root of negative numbers that the first one has yielded.
TEST(MaskedGradient, OfAFactorThatARepeatCarries) {
  Numbers found = gradients({{-1, -2, 4}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
    return repeat(b, "layer", {{x[1], x[0]}, {}, {x[0], x[1]}}, [](GraphBuilder &b, ValueRange in) {
      return SmallVector<Value>{b.add(in[0], where(b, in[2], b.mul(in[1], in[3]))), b.sqrt(in[1])};
    })[0];
  });
  EXPECT_EQ(found[1], (std::vector<double>{1, 1, 7}));
}

/// Attention along a with keys along b, and a region that changes the scores or the probabilities.
static Value attention(GraphBuilder &b, Value x, ValueRange captures, bool isWeight, Body region) {
  Value q = b.broadcast(x, b.type(axis(b.getContext(), "c", 1), b.getF64Type())), k = b.rename(q, {"a"}, {"b"});
  NamedTensorType rows = tensorType(x), scores = b.type(b.unite({rows, tensorType(k)}), b.getF64Type());
  scores = scores.withAxes(b.without(scores, {"c"}));
  auto op = AttentionOp::create(b, b.getLoc(), TypeRange{q.getType(), rows, rows}, q, k, k, captures, b.strings({"c"}),
                                b.getStringAttr("b"));
  OpBuilder::InsertionGuard guard(b);
  for (Region *added : {&op.getScore(), &op.getWeight()}) {
    if (added == &op.getWeight() && !isWeight) break;
    Block *block = b.createBlock(added);
    block->addArgument(scores, b.getLoc());
    for (Value capture : captures) block->addArgument(capture.getType(), b.getLoc());
    bool isChanged = (added == &op.getWeight()) == isWeight;
    SmallVector<Value> same{block->getArgument(0)};
    YieldOp::create(b, b.getLoc(), isChanged ? region(b, block->getArguments()) : same);
  }
  return op.getResult();
}

TEST(MaskedGradient, OfAFunctionThatAnAttentionCaptures) {
  for (bool isWeight : {false, true})
    for (auto partial : partials) {
      Numbers found = gradients({{-1, -2, 4}, {0.5, 0.2, 0.3}}, [&](GraphBuilder &b, ValueRange x) {
        return attention(b, x[1], {x[0], partial(b, x[0])}, isWeight, [](GraphBuilder &b, ValueRange in) {
          return SmallVector<Value>{where(b, in[1], b.mul(in[0], in[2]))};
        });
      });
      EXPECT_EQ(found[0][0], 0);
      EXPECT_EQ(found[0][1], 0);
      for (const auto &row : found)
        for (double number : row) EXPECT_TRUE(std::isfinite(number));
    }
}

/// Rows whose scores are one large number throughout have equal probabilities, also where the number has no digits left
/// for the logarithm of how many there are.
TEST(MaskedGradient, OfAnAttentionWhoseScoresAreALargeConstant) {
  for (double number : {-1e30, 1e30, -1e300, 0.0}) {
    Numbers found = gradients({{0.5, 0.2, 0.3}, {1, 2, 3}}, [&](GraphBuilder &b, ValueRange x) {
      Value mean = attention(b, x[0], {}, /*isWeight=*/false, [&](GraphBuilder &b, ValueRange in) {
        return SmallVector<Value>{b.constant(number, tensorType(in[0]))};
      });
      return b.mul(b.sum(mean, {"c"}), x[1]);
    });
    for (double each : found[0]) EXPECT_NEAR(each, 2, 1e-12) << number; // a third of 1 + 2 + 3
    for (double each : found[1]) EXPECT_NEAR(each, 1.0 / 3, 1e-12) << number;
  }
}

//===----------------------------------------------------------------------===//
// What is left as it is
//===----------------------------------------------------------------------===//

static int countMasks(Build build) {
  VectorProgram program(2, 3, build);
  program.differentiate();
  return program.countMasks();
}

TEST(MaskedGradient, NeedsNoCodeWhereFactorsAreFinite) {
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) { return where(b, x[1], b.sqrt(x[0])); }), 1);
  // ReLU and dropout of a product, of GELU, of a norm.
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) { return where(b, x[1], b.mul(x[0], x[1])); }), 0);
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) {
              Value gelu = b.mul(x[0], b.add(b.unary<ErfOp>(b.mul(x[0], 0.7)), 1));
              return where(b, x[1], gelu);
            }),
            0);
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) {
              Value variance = b.mean(b.mul(x[0], x[0]), {"a"});
              return where(b, x[1], b.mul(b.mul(x[0], b.rsqrt(b.add(variance, 1e-5))), x[1]));
            }),
            0);
  // Regions: what is carried, sliced or captured is finite, and so are scores and probabilities.
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) {
              return repeat(b, "layer", {{x[0]}, {}, {x[1]}}, [](GraphBuilder &b, ValueRange in) {
                return SmallVector<Value>{b.add(in[0], where(b, in[1], b.mul(in[0], in[1])))};
              })[0];
            }),
            0);
  for (bool isWeight : {false, true}) {
    auto region = [](GraphBuilder &b, ValueRange in) {
      return SmallVector<Value>{where(b, in[1], b.mul(in[0], in[1]))};
    };
    EXPECT_EQ(countMasks([&](GraphBuilder &b, ValueRange x) { return attention(b, x[0], {x[1]}, isWeight, region); }),
              0);
  }
  // Not under a select.
  EXPECT_EQ(countMasks([](GraphBuilder &b, ValueRange x) { return b.mul(b.log(x[0]), b.sqrt(x[1])); }), 0);
}
