//===- PackingBenchmark.cpp - speed of packing buffers --------------------===//
//
// packing-bench: how long it takes to pack ten thousand buffers, and how close the packings are to their bounds. The
// lifetimes are those of three examples' steps, as if their layers were unrolled, and two random sets. This is no test,
// since times depend on the machine's load.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "passes/memory/Storage.h"
#include "tests/passes/memory/LifetimeSets.h"
#include "tests/passes/memory/PlannedModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>

using namespace mlir;
using namespace tessera;

static constexpr size_t bufferCount = 10'000;
static constexpr int runs = 5;

/// Of the processor, on the one thread that there is.
static double secondsOf(llvm::function_ref<void()> work) {
  std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

static void measure(StringRef name, ArrayRef<Lifetime> buffers) {
  Packing packing;
  SmallVector<double> seconds;
  for (int run = 0; run < runs; ++run) seconds.push_back(secondsOf([&] { packing = packBuffers(buffers); }));
  llvm::sort(seconds);
  double gap = static_cast<double>(packing.bytes) / static_cast<double>(std::max<int64_t>(1, packing.bound)) - 1;
  llvm::outs() << llvm::formatv("{0,-24} {1,6} buffers {2,14} bytes, {3:P3} above the bound {4,8:F1} ms\n", name,
                                buffers.size(), packing.bytes, gap, 1e3 * seconds[runs / 2]);
}

static std::vector<Lifetime> lifetimesOfStep(MLIRContext &context, StringRef example) {
  OwningOpRef<ModuleOp> module = test::planExample(context, example, {});
  if (!module) exit(1);
  SmallVector<Lifetime> lifetimes = StoragePlan(module->lookupSymbol<func::FuncOp>("step")).lifetimes();
  return {lifetimes.begin(), lifetimes.end()};
}

int main() {
  MLIRContext context;
  for (StringRef example : {"03-byte-gpt.tsr", "04-gpt2.tsr", "07-llama.tsr"}) {
    std::vector<Lifetime> step = lifetimesOfStep(context, example);
    measure(example, step);
    measure((example + ", unrolled").str(), test::nested(step, bufferCount));
  }
  std::mt19937 random(1);
  measure("random, short-lived", test::randomLifetimes(bufferCount, bufferCount, 100, random));
  measure("random, long-lived", test::randomLifetimes(bufferCount, bufferCount, 2000, random));
  measure("equal layers", test::trainingStep(bufferCount / 10, random));
}
