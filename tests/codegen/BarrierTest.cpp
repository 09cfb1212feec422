//===- BarrierTest.cpp - every barrier of CUDA code is needed, and missed ---===//
//
// Each barrier in what kernels are made of is taken out in turn; the emulator must then report a race in one of the kernels. So none
// is there without need, and none could be forgotten unnoticed.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

/// Rows that a block reduces, in two sweeps; columns that rows of a block reduce.
constexpr const char *kernelsWithBarriers = R"(
func.func @rows(%x: !tsr.tensor<[row: 2, col: 4096], f32>) -> (!tsr.tensor<[row: 2, col: 4096], f32>) {
  %k = tsr.kernel "rows" (%a = %x : !tsr.tensor<[row: 2, col: 4096], f32>) parallel ["row"] serial ["col"] vector "col" -> (!tsr.tensor<[row: 2, col: 4096], f32>) {
    %m = tsr.reduce max %a over ["col"] : !tsr.tensor<[row: 2, col: 4096], f32> -> !tsr.tensor<[row: 2], f32>
    %d = tsr.sub %a, %m : (!tsr.tensor<[row: 2, col: 4096], f32>, !tsr.tensor<[row: 2], f32>) -> !tsr.tensor<[row: 2, col: 4096], f32>
    tsr.yield %d : !tsr.tensor<[row: 2, col: 4096], f32>
  }
  return %k : !tsr.tensor<[row: 2, col: 4096], f32>
}
func.func @columns(%x: !tsr.tensor<[row: 512, col: 96], f32>) -> (!tsr.tensor<[col: 96], f32>) {
  %k = tsr.kernel "columns" (%a = %x : !tsr.tensor<[row: 512, col: 96], f32>) parallel ["col"] serial ["row"] vector "col" -> (!tsr.tensor<[col: 96], f32>) {
    %s = tsr.reduce sum %a over ["row"] : !tsr.tensor<[row: 512, col: 96], f32> -> !tsr.tensor<[col: 96], f32>
    tsr.yield %s : !tsr.tensor<[col: 96], f32>
  }
  return %k : !tsr.tensor<[col: 96], f32>
}
)";

constexpr llvm::StringLiteral barrier = "  sync_block();";

/// What the emulator says of all kernels with this header; empty if nothing.
std::string runAll(const cuda::CudaKernels &written, llvm::StringRef header) {
  std::vector<const cuda::CudaKernel *> kernels;
  for (const auto &kernel : written.getKernels()) kernels.push_back(kernel.get());
  EmulatedKernels loaded(kernels, header);
  std::string said = loaded.errors;
  std::vector<float> input(512 * 96), output(512 * 96);
  for (const cuda::CudaKernel *kernel : kernels)
    if (said.empty()) said = loaded.run(*kernel, {input.data(), output.data()});
  return said;
}

TEST(Barriers, EachIsMissed) {
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(kernelsWithBarriers, &context);
  ASSERT_TRUE(module);
  cuda::CudaKernels written;
  module->walk([&](KernelOp op) { ASSERT_TRUE(succeeded(written.emit(op))); });
  for (const auto &kernel : written.getKernels())
    ASSERT_EQ(kernel->source.find("sync"), std::string::npos)
        << "a barrier outside of the header needs a test of its own";
  std::string header;
  for (const cuda::DeviceHeader &one : cuda::deviceHeaders()) {
    if (one.name == "threads.cuh")
      header = one.text.str();
    else
      EXPECT_EQ(one.text.find(barrier), llvm::StringRef::npos) << "a barrier in " << one.name.str() << " needs a test";
  }
  EXPECT_EQ(runAll(written, header), "");
  int barriers = 0;
  for (size_t at = header.find(barrier); at != std::string::npos; at = header.find(barrier, at + 1), ++barriers) {
    std::string mutated = header;
    mutated.erase(at, barrier.size());
    EXPECT_NE(runAll(written, mutated).find("race"), std::string::npos)
        << "nothing is reported without the barrier behind\n"
        << header.substr(at - 200, 200);
  }
  EXPECT_EQ(barriers, 2);
}

} // namespace
