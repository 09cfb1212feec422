//===- AttentionCpuTest.cpp - attentions of many shapes as CPU code -------===//
//
// A small model with one attention is trained for some steps as CPU code and by the interpreter. What differs from case to
// case decides how the tiled op runs: sizes that no register tile divides, heads, masks that leave a band of the scores.
//
//===----------------------------------------------------------------------===//

#include "ir/Tsr.h"
#include "tests/random/CompiledModel.h"
#include "tests/random/CpuCheck.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

struct Attention {
  const char *name;
  int batch, seq, heads, headSize;
  std::string score = "s";                                           ///< in terms of s, the scaled scores
  int group = 1;                                                     ///< query heads for each head of keys
  std::string p = "softmax[key](score)";                             ///< in terms of score
  int tiled = 2;                                                     ///< tiled ops in a step: forward and backward
  std::optional<int64_t> lower = std::nullopt, upper = std::nullopt; ///< of the band that `tile` should find
};

std::string modelText(const Attention &a) {
  auto number = [](int n) { return std::to_string(n); };
  std::string dims = a.group > 1 ? "head, group" : "head";
  return "use nn: softmax, dropout, cross_entropy\n"
         "dim batch, seq, vocab = 8, embed = 6, head = " +
         number(a.heads) + ", group = " + number(a.group) + ", hd = " + number(a.headSize) +
         "\n"
         "fn attention(x[.., seq, embed]) {\n"
         "  dim key like seq\n"
         "  weight wq, wo [embed, " +
         dims +
         ", hd] = normal(0.5)\n"
         "  weight wk, wv [embed, head, hd] = normal(0.5)\n"
         "  weight slope [head] = normal(0.1)\n"
         "  let past = x as [seq -> key]\n"
         "  let q = sum[embed](x * wq), k = sum[embed](past * wk), v = sum[embed](past * wv)\n"
         "  let s = sum[hd](q * k) / sqrt(hd)\n"
         "  let score = " +
         a.score +
         "\n"
         "  let p = " +
         a.p +
         "\n"
         "  sum[" +
         dims +
         ", hd](sum[key](p * v) * wo)\n"
         "}\n"
         "model m(tokens[batch, seq] in vocab) -> [batch, seq, vocab] {\n"
         "  weight table [vocab, embed] = normal(1)\n"
         "  let e = table[vocab = tokens] + sin(pos[seq] * 0.37)\n"
         "  sum[embed]((e + attention(e)) * table)\n"
         "}\n"
         "train m {\n"
         "  data d = tokens(train = \"none\", batch = " +
         number(a.batch) + ", seq = " + number(a.seq) +
         ")\n"
         "  loss ce = mean[batch, seq](cross_entropy[vocab](m(d.tokens), d.next))\n"
         "  optimize sgd(lr = 0.3) on weight\n"
         "  stop(after = 10)\n"
         "}\n";
}

void PrintTo(const Attention &attention, std::ostream *out) { *out << attention.name; }

class AttentionOnCpu : public testing::TestWithParam<Attention> {};

} // namespace

/// `compute`: what `compute(…)` says; empty: nothing.
static void check(const Attention &attention, StringRef compute) {
  MLIRContext context;
  OwningOpRef<ModuleOp> program = compileTo(context, modelText(attention), "optimize", compute);
  ASSERT_TRUE(program) << modelText(attention);
  OwningOpRef<ModuleOp> scheduled;
  EXPECT_EQ(checkOnCpu(*program, 2, &scheduled), "");

  int inStep = 0;
  scheduled->lookupSymbol<func::FuncOp>("step").walk([&](TiledOp tiled) {
    ++inStep;
    EXPECT_EQ(tiled.getLower(), attention.lower);
    EXPECT_EQ(tiled.getUpper(), attention.upper);
  });
  EXPECT_EQ(inStep, attention.tiled);
}

TEST_P(AttentionOnCpu, TrainsAsTheInterpreterDoes) { check(GetParam(), ""); }
TEST_P(AttentionOnCpu, TrainsInBf16) { check(GetParam(), "bf16"); }
TEST_P(AttentionOnCpu, TrainsInFp16) { check(GetParam(), "fp16"); }

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionOnCpu,
    testing::Values(
        Attention{.name = "Full", .batch = 2, .seq = 70, .heads = 2, .headSize = 16},
        Attention{.name = "Causal",
                  .batch = 2,
                  .seq = 64,
                  .heads = 2,
                  .headSize = 32,
                  .score = "where(pos[key] <= pos[seq], s, -inf)",
                  .upper = 0},
        Attention{.name = "CausalOddSizes",
                  .batch = 2,
                  .seq = 107,
                  .heads = 2,
                  .headSize = 5,
                  .score = "where(pos[key] <= pos[seq], s, -inf)",
                  .upper = 0},
        Attention{.name = "NotItself",
                  .batch = 4,
                  .seq = 75,
                  .heads = 1,
                  .headSize = 9,
                  .score = "where(pos[key] < pos[seq], s, -inf)",
                  .upper = -1},
        Attention{.name = "Window",
                  .batch = 1,
                  .seq = 150,
                  .heads = 4,
                  .headSize = 7,
                  .score = "where(pos[key] <= pos[seq] and pos[seq] - pos[key] < 20, s, -inf)",
                  .lower = -19,
                  .upper = 0},
        Attention{.name = "Future",
                  .batch = 2,
                  .seq = 100,
                  .heads = 2,
                  .headSize = 4,
                  .score = "where(pos[seq] > pos[key], -inf, s)",
                  .lower = 0},
        Attention{.name = "Distance",
                  .batch = 2,
                  .seq = 60,
                  .heads = 2,
                  .headSize = 12,
                  .score = "where(pos[key] <= pos[seq], s - slope * over[head](float(pos[seq] - pos[key])), -inf)",
                  .tiled = 1, // the slopes' gradient needs the scores' stored
                  .upper = 0},
        Attention{.name = "Dropout",
                  .batch = 2,
                  .seq = 57,
                  .heads = 2,
                  .headSize = 10,
                  .score = "where(pos[key] <= pos[seq], s, -inf)",
                  .p = "dropout(softmax[key](score), 0.2)",
                  .upper = 0},
        Attention{.name = "Unmasked",
                  .batch = 2,
                  .seq = 49,
                  .heads = 2,
                  .headSize = 40,
                  .score = "where(pos[key] <= pos[seq], s, -1000.0)"},
        Attention{.name = "SharedKeys",
                  .batch = 2,
                  .seq = 60,
                  .heads = 2,
                  .headSize = 8,
                  .score = "where(pos[key] <= pos[seq], s, -inf)",
                  .group = 3,
                  .upper = 0}),
    [](const testing::TestParamInfo<Attention> &info) { return info.param.name; });
