//===- AttentionTest.cpp - attentions of many shapes as code ----------------===//
//
// A small model with one attention is trained for some steps as CPU code, as emulated CUDA code, and by the
// interpreter. What differs from case to case decides how the tiled op runs: sizes that no register tile divides,
// heads, masks that leave a band of the scores.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/Program.h"
#include "ir/program/Program.h"
#include "passes/Pipeline.h"
#include "tests/codegen/cuda/EmulatedKernels.h"
#include "tests/differential/CompiledModel.h"
#include "tests/differential/CpuCheck.h"
#include "tests/differential/CudaCheck.h"
#include "gtest/gtest.h"
#include <cstring>
#include <random>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

struct Attention {
  const char *name;
  int batch, seq, heads, headSize;
  std::string score = "s";               ///< in terms of s, the scaled scores
  int group = 1;                         ///< query heads for each head of keys
  std::string p = "softmax[key](score)"; ///< in terms of score
  int tiled = 2;                         ///< tiled ops in a step: forward and backward
  int tiledOnGpu = 2;
  std::optional<int64_t> lower = std::nullopt, upper = std::nullopt; ///< of the band that `tile` should find
};

std::string modelText(const Attention &a) {
  auto number = [](int n) { return std::to_string(n); };
  std::string dims = a.group > 1 ? "head, number" : "head";
  return "use nn: softmax, dropout, cross_entropy\n"
         "dim batch, seq, vocab = 8, embed = 6, head = " +
         number(a.heads) + ", number = " + number(a.group) + ", hd = " + number(a.headSize) +
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
class AttentionOnGpu : public testing::TestWithParam<Attention> {};

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

/// The CUDA code of all kernels; none if the model does not compile.
static std::vector<std::shared_ptr<const cuda::CudaKernel>> cudaKernels(const Attention &attention, StringRef compute) {
  MLIRContext context;
  OwningOpRef<ModuleOp> program = compileTo(context, modelText(attention), "parse", compute);
  if (!program) return {};
  Target target = *Target::named("h100");
  target.record(*program);
  if (failed(runPipeline(*program, {}))) return {};
  CudaBackend backend(target, CudaOptions{{"sm_90a"}, /*compiles=*/false, {}, {}});
  if (failed(generateProgram(*program, backend, {}))) return {};
  return backend.getKernels();
}

/// The output is summed up in the sweep that finds the largest score; dropout changes nothing of that.
TEST(AttentionSweeps, OneForward) {
  for (StringRef weights : {"softmax[key](score)", "dropout(softmax[key](score), 0.2)"}) {
    Attention attention{.name = "Forward", .batch = 1, .seq = 150, .heads = 4, .headSize = 16, .p = weights.str()};
    int forward = 0, withDraws = 0;
    for (const auto &kernel : cudaKernels(attention, "bf16")) {
      StringRef source = kernel->source;
      if (!source.contains("tsr::Softmax<float> softmax[2]")) continue;
      ++forward;
      EXPECT_EQ(source.count("tsr::advance<4>("), 2u) << kernel->source;
      EXPECT_EQ(source.count("first += "), 1u) << kernel->source;
      withDraws += source.contains("tsr::philox");
    }
    EXPECT_GE(forward, 1);
    EXPECT_EQ(withDraws > 0, weights.starts_with("dropout"));
  }
}

/// What rounds to whole numbers does so after the division by the sum.
TEST(AttentionSweeps, TwoWhereWeightsAreNoMultiples) {
  Attention attention{.name = "Whole", .batch = 1, .seq = 150, .heads = 2, .headSize = 16};
  attention.p = "float(int(softmax[key](score) * 15.0)) * 0.0667";
  int withSoftmax = 0;
  for (const auto &kernel : cudaKernels(attention, "")) {
    withSoftmax += StringRef(kernel->source).contains("tsr::Softmax<float>");
    EXPECT_FALSE(StringRef(kernel->source).contains("tsr::advance<4>(")) << kernel->source;
  }
  EXPECT_GE(withSoftmax, 1);
}

/// Each barrier of the tiled kernels is taken out in turn, and each wait for copies; the emulator must then report a
/// race. How many there were.
static int checkWithout(StringRef statement, const Attention &attention, StringRef compute = "bf16") {
  int count = 0;
  for (const auto &kernel : cudaKernels(attention, compute)) {
    std::vector<std::vector<char>> memory(kernel->parameterTypes.size(), std::vector<char>(1 << 20));
    std::vector<void *> arguments;
    for (std::vector<char> &bytes : memory) arguments.push_back(bytes.data());
    for (size_t at = kernel->source.find(statement); at != std::string::npos;
         at = kernel->source.find(statement, at + 1), ++count) {
      cuda::CudaKernel mutated = *kernel;
      mutated.source.erase(at, statement.size());
      EmulatedKernels loaded({&mutated});
      EXPECT_EQ(loaded.errors, "");
      EXPECT_NE(loaded.run(mutated, arguments).find("race"), std::string::npos)
          << "nothing is reported without what stands at " << at << " of\n"
          << kernel->source;
    }
  }
  return count;
}

TEST(AttentionBarriers, EachIsMissed) {
  Attention plain{.name = "Plain", .batch = 1, .seq = 150, .heads = 4, .headSize = 16};
  Attention shared{.name = "Shared", .batch = 1, .seq = 150, .heads = 2, .headSize = 16, .group = 2};
  // One for each launch: forward, forward where nothing is saved, two of the gradient.
  EXPECT_GE(checkWithout("tsr::wait_for_copies();", plain), 4);
  EXPECT_GE(checkWithout("tsr::sync_block();", plain), 4);
  // And one where a block goes over the heads that share keys.
  EXPECT_GE(checkWithout("tsr::sync_block();", shared), 5);
  // Two where there is no room for a tile on its way: in the forward launches.
  Attention large{.name = "Large", .batch = 1, .seq = 150, .heads = 1, .headSize = 64};
  EXPECT_GE(checkWithout("tsr::sync_block();", large, ""), 6);
  EXPECT_GE(checkWithout("tsr::wait_for_copies();", large, ""), 4);
}

/// What a kernel writes, with `from` replaced by `to` in its source. Operands are random.
static std::vector<std::vector<char>> outputsWith(const cuda::CudaKernel &kernel, StringRef from, StringRef to) {
  cuda::CudaKernel changed = kernel;
  for (size_t at = changed.source.find(from); !from.empty() && at != std::string::npos;
       at = changed.source.find(from, at + to.size()))
    changed.source.replace(at, from.size(), to.str());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<char>> memory, outputs;
  std::vector<void *> arguments;
  for (const std::string &type : changed.parameterTypes) {
    std::vector<char> &bytes = memory.emplace_back(1 << 18);
    for (size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float x = normal(random);
      if (StringRef(type).contains("float"))
        std::memcpy(&bytes[i], &x, 4);
      else if (StringRef(type).contains("bf16")) // both halves of a word are such values
        std::memcpy(&bytes[i], reinterpret_cast<char *>(&x) + 2, 2), std::memcpy(&bytes[i + 2], &bytes[i], 2);
    }
  }
  for (std::vector<char> &bytes : memory) arguments.push_back(bytes.data());
  EmulatedKernels loaded({&changed});
  EXPECT_EQ(loaded.errors, "") << changed.source;
  EXPECT_EQ(loaded.run(changed, arguments), "");
  for (auto [argument, bytes] : llvm::zip(changed.arguments, memory))
    if (argument.isWritten) outputs.push_back(bytes);
  return outputs;
}

/// Masks are applied in tiles that the band's edges cross only. Masking everywhere gives the same bits.
TEST(AttentionEdges, MaskingInsideChangesNoBit) {
  for (StringRef mask : {"pos[key] <= pos[seq]", "pos[key] <= pos[seq] and pos[seq] - pos[key] < 130"}) {
    Attention attention{.name = "Long", .batch = 1, .seq = 200, .heads = 1, .headSize = 16};
    attention.score = "where(" + mask.str() + ", s, -inf)";
    int masked = 0;
    for (const auto &kernel : cudaKernels(attention, "bf16")) {
      if (!StringRef(kernel->source).contains("!at_edge || index")) continue;
      ++masked;
      std::vector<std::vector<char>> plain = outputsWith(*kernel, "", "");
      EXPECT_EQ(plain, outputsWith(*kernel, "!at_edge || index", "index")) << kernel->source;
      // There are tiles of both kinds.
      EXPECT_NE(plain, outputsWith(*kernel, "!at_edge || index", "true || index")) << kernel->source;
      EXPECT_NE(plain, outputsWith(*kernel, "!at_edge || index", "at_edge && index")) << kernel->source;
    }
    EXPECT_GE(masked, 4);
  }
}

static void checkOnGpu(const Attention &attention, StringRef compute) {
  MLIRContext context;
  OwningOpRef<ModuleOp> program = compileTo(context, modelText(attention), "parse", compute);
  ASSERT_TRUE(program) << modelText(attention);
  OwningOpRef<ModuleOp> scheduled;
  EXPECT_EQ(checkOnCuda(*program, &scheduled), "");
  ASSERT_TRUE(scheduled);
  int inStep = 0;
  scheduled->lookupSymbol<func::FuncOp>("step").walk([&](TiledOp) { ++inStep; });
  EXPECT_EQ(inStep, attention.tiledOnGpu);
}

TEST_P(AttentionOnGpu, TrainsInF32) { checkOnGpu(GetParam(), ""); }
TEST_P(AttentionOnGpu, TrainsInBf16) { checkOnGpu(GetParam(), "bf16"); }
TEST_P(AttentionOnGpu, TrainsInFp16) { checkOnGpu(GetParam(), "fp16"); }

TEST_P(AttentionOnCpu, TrainsAsTheInterpreterDoes) { check(GetParam(), ""); }
TEST_P(AttentionOnCpu, TrainsInBf16) { check(GetParam(), "bf16"); }
TEST_P(AttentionOnCpu, TrainsInFp16) { check(GetParam(), "fp16"); }

static const auto cases = testing::Values(
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
    Attention{.name = "WideWindow",
              .batch = 1,
              .seq = 260,
              .heads = 1,
              .headSize = 8,
              .score = "where(pos[key] <= pos[seq] and pos[seq] - pos[key] < 180, s, -inf)",
              .tiled = 1, // a CPU's backward pass needs more matrices
              .lower = -179,
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
              .tiled = 1,
              .tiledOnGpu = 1, // the slopes' gradient needs the scores' stored
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
    // The first tile of keys that a row visits may be masked altogether. A CPU's backward pass needs more matrices.
    Attention{.name = "FiniteMask",
              .batch = 1,
              .seq = 100,
              .heads = 2,
              .headSize = 7,
              .score = "where(pos[key] <= pos[seq] and pos[seq] - pos[key] < 20, s, -1e30)",
              .tiled = 1},
    Attention{.name = "ScaledFiniteMask",
              .batch = 1,
              .seq = 100,
              .heads = 2,
              .headSize = 16,
              .score = "where(pos[key] <= pos[seq] and pos[seq] - pos[key] < 20, s, -1e30) * 0.3",
              .tiled = 1},
    // Rows that are a large finite constant throughout: each key has the same probability.
    Attention{.name = "ConstantRows",
              .batch = 2,
              .seq = 70,
              .heads = 2,
              .headSize = 8,
              .score = "where(pos[seq] < 23 or pos[seq] > 60, -1e30, s)"},
    Attention{.name = "CausalConstantRows",
              .batch = 2,
              .seq = 70,
              .heads = 2,
              .headSize = 16,
              .score = "where(pos[key] <= pos[seq], where(pos[seq] < 23, -1e30, s), -inf)",
              .upper = 0},
    Attention{.name = "ScaledConstantRows",
              .batch = 2,
              .seq = 57,
              .heads = 2,
              .headSize = 8,
              .score = "where(pos[key] <= pos[seq] and pos[seq] > 20, s, -3e37) * 0.3"},
    Attention{.name = "SharedKeys",
              .batch = 2,
              .seq = 60,
              .heads = 2,
              .headSize = 8,
              .score = "where(pos[key] <= pos[seq], s, -inf)",
              .group = 3,
              .upper = 0});

static std::string nameOf(const testing::TestParamInfo<Attention> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOnCpu, cases, nameOf);
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOnGpu, cases, nameOf);
