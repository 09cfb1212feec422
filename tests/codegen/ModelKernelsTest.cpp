//===- ModelKernelsTest.cpp - all kernels of whole models -----------------===//
//
// The example models go through every phase up to `fuse`, at small sizes. Each kernel is compiled, run on random
// elements and compared with the interpreter.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "ModelText.h"
#include "codegen/cuda/nvrtc/Nvrtc.h"
#include "mlir/Parser/Parser.h"
#include "passes/launch/Launches.h"
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::test;

namespace {

void checkModel(const std::string &example, const std::vector<std::string> &sets) {
  std::string text = fusedModel(std::string(TESSERA_SOURCE_DIR) + "/examples/" + example, sets);
  ASSERT_NE(text, "");
  for (const char *march : {"native", "cuda"}) {
    LoadedKernels loaded(text, march);
    ASSERT_EQ(loaded.errors, "");
    std::set<std::string> seen;
    for (LoadedKernels::Kernel &kernel : loaded.kernels)
      if (seen.insert(kernel.symbol().str()).second) checkKernel(loaded, kernel, {.tolerance = 2e-5});
    printf("  %s, %s: %zu kernels, %zu distinct\n", example.c_str(), march, loaded.kernels.size(), seen.size());
  }
}

TEST(ModelKernels, Regression) { checkModel("01-regression.tsr", {}); }
TEST(ModelKernels, Digits) { checkModel("02-digits.tsr", {}); }
TEST(ModelKernels, ByteGpt) { checkModel("03-byte-gpt.tsr", {"depth=2", "heads=1", "head_size=8"}); }

/// The launch whose first kernel is `first`.
void emitLaunch(cuda::CudaKernels &kernels, KernelOp first) {
  mlir::SmallVector<KernelOp> members;
  for (mlir::Operation *op : launchOf(first)) members.push_back(mlir::cast<KernelOp>(op));
  if (members.front() != first) return;
  std::vector<mlir::SmallVector<int64_t>> alignments(members.size());
  EXPECT_TRUE(mlir::succeeded(kernels.emit(members, alignments)));
}

/// The two launches of attention's backward pass claim what they write, and no more: so they may run concurrently.
TEST(ModelKernels, LaunchesOfTiledOpsClaimTheirOwnResults) {
  std::string text = gpuModel(std::string(TESSERA_SOURCE_DIR) + "/examples/03-byte-gpt.tsr", {});
  mlir::MLIRContext context;
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  cuda::CudaKernels kernels;
  size_t mostLaunches = 0;
  module->walk([&](TiledOp tiled) {
    auto launches = kernels.emit(tiled);
    ASSERT_TRUE(mlir::succeeded(launches));
    mostLaunches = std::max(mostLaunches, launches->size());
    size_t operands = tiled->getNumOperands(), results = tiled->getNumResults();
    for (const cuda::CudaKernel *launch : *launches) {
      ASSERT_EQ(launch->arguments.size(), operands + results);
      for (size_t i = 0; i < operands; ++i) EXPECT_FALSE(launch->arguments[i].isWritten);
    }
    for (size_t i = 0; i < results; ++i) {
      int writers = 0;
      for (const cuda::CudaKernel *launch : *launches) {
        const KernelArgument &argument = launch->arguments[operands + i];
        std::string result = "out_" + std::to_string(i); // a row value is stored by index, a sum by address
        bool stores = launch->source.find(result + "[") != std::string::npos ||
                      launch->source.find(result + " + (") != std::string::npos;
        EXPECT_EQ(argument.isWritten, stores) << launch->source;
        EXPECT_EQ(argument.bytes > 0, stores);
        writers += argument.isWritten;
      }
      EXPECT_EQ(writers, 1) << "result " << i << " of " << tiled.getName().str();
    }
  });
  EXPECT_EQ(mostLaunches, 2u);
}

/// All kernels of a model, at its full size, compile for GPUs, and none spills registers.
void compileForGpus(const std::string &example, const std::vector<std::string> &sets) {
  std::string problem;
  const cuda::Nvrtc *nvrtc = cuda::Nvrtc::get(problem);
  if (!nvrtc) GTEST_SKIP() << problem;
  std::string text = gpuModel(std::string(TESSERA_SOURCE_DIR) + "/examples/" + example, sets);
  mlir::MLIRContext context;
  context.loadDialect<TsrDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  cuda::CudaKernels kernels;
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (auto tiled = mlir::dyn_cast<TiledOp>(op)) {
      EXPECT_TRUE(mlir::succeeded(kernels.emit(tiled)));
      return mlir::WalkResult::skip();
    }
    if (auto kernel = mlir::dyn_cast<KernelOp>(op)) emitLaunch(kernels, kernel);
    return mlir::WalkResult::advance();
  });
  for (const auto &kernel : kernels.getKernels())
    for (const char *architecture : {"sm_80", "sm_90a", "sm_100a"}) {
      cuda::Compilation result = nvrtc->compile(kernel->source, kernel->symbol, architecture);
      ASSERT_NE(result.code, "") << architecture << "\n" << cuda::explain(result.log, kernel->source) << kernel->source;
      EXPECT_EQ(cuda::spilledBytes(result.log), 0) << architecture << "\n" << result.log << kernel->source;
    }
}
TEST(ModelKernels, ByteGptCompilesForGpus) { compileForGpus("03-byte-gpt.tsr", {}); }
TEST(ModelKernels, Gpt2InF32CompilesForGpus) { compileForGpus("04-gpt2.tsr", {"d.batch=16", "d.seq=1024"}); }
TEST(ModelKernels, Gpt2WithLargeHeadsCompilesForGpus) {
  compileForGpus("04-gpt2.tsr", {"compute=bf16", "heads=6", "head_size=128", "d.batch=2", "d.seq=1024"});
}
TEST(ModelKernels, Gpt2CompilesForGpus) { compileForGpus("04-gpt2.tsr", {"compute=bf16", "d.batch=32", "d.seq=1024"}); }

} // namespace
