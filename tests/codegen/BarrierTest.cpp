//===- BarrierTest.cpp - every barrier of CUDA code is needed, and missed ---===//
//
// Each barrier in kernels, and in what they are made of, is taken out in turn; the emulator must then report a race. So none
// is there without need, and none could be forgotten unnoticed.
//
//===----------------------------------------------------------------------===//

#include "KernelCheck.h"
#include "codegen/cuda/device/DeviceHeaders.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

/// Rows that a block reduces, in two sweeps; columns that rows of a block reduce; positions that a block looks for.
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
func.func @positions(%x: !tsr.tensor<[row: 512, col: 96], f32>, %i: !tsr.tensor<[row: 512], i32>) -> (!tsr.tensor<[word: 20, col: 96], f32>) {
  %k = tsr.kernel "positions" (%a = %x : !tsr.tensor<[row: 512, col: 96], f32>, %b = %i : !tsr.tensor<[row: 512], i32>) parallel ["col"] serial ["row"] vector "col" -> (!tsr.tensor<[word: 20, col: 96], f32>) {
    %s = tsr.scatter_add %a [["word"] = %b] : (!tsr.tensor<[row: 512, col: 96], f32>, !tsr.tensor<[row: 512], i32>) -> !tsr.tensor<[word: 20, col: 96], f32>
    tsr.yield %s : !tsr.tensor<[word: 20, col: 96], f32>
  }
  return %k : !tsr.tensor<[word: 20, col: 96], f32>
}
)";

constexpr llvm::StringLiteral barrier = "sync_block();";

/// What the emulator says of all kernels with this header; empty if nothing.
std::string runAll(const std::vector<cuda::CudaKernel> &written, llvm::StringRef header) {
  std::vector<const cuda::CudaKernel *> kernels;
  for (const cuda::CudaKernel &kernel : written) kernels.push_back(&kernel);
  EmulatedKernels loaded(kernels, header);
  std::string said = loaded.errors;
  std::vector<std::vector<char>> memory(3, std::vector<char>(512 * 96 * sizeof(float)));
  for (const cuda::CudaKernel *kernel : kernels) {
    std::vector<void *> arguments;
    for (size_t i = 0; i < kernel->parameterTypes.size(); ++i) arguments.push_back(memory[i].data());
    if (said.empty()) said = loaded.run(*kernel, arguments);
  }
  return said;
}

/// Takes each call of a barrier out of `text` in turn; how many there are. `runs` says what is reported without it.
int takeOutEach(std::string &text, llvm::function_ref<std::string()> runs) {
  const std::string whole = text;
  int barriers = 0;
  for (size_t at = whole.find(barrier); at != std::string::npos; at = whole.find(barrier, at + 1)) {
    size_t start = whole.rfind('\n', at) + 1;
    if (whole.substr(start, at - start).find("void ") != std::string::npos) continue; // its definition
    text = whole;
    text.replace(start, at + barrier.size() - start, at + barrier.size() - start, ' ');
    EXPECT_NE(runs().find("race"), std::string::npos) << "nothing is reported without the barrier behind\n"
                                                      << whole.substr(at - std::min<size_t>(at, 200), 200);
    ++barriers;
  }
  text = whole;
  return barriers;
}

TEST(Barriers, EachIsMissed) {
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  auto module = parseSourceString<ModuleOp>(kernelsWithBarriers, &context);
  ASSERT_TRUE(module);
  cuda::CudaKernels written;
  module->walk([&](KernelOp op) { ASSERT_TRUE(succeeded(written.emit(op))); });
  std::vector<cuda::CudaKernel> kernels;
  for (const auto &kernel : written.getKernels()) kernels.push_back(*kernel);
  std::string header;
  for (const cuda::DeviceHeader &one : cuda::deviceHeaders()) {
    if (one.name == "threads.cuh")
      header = one.text.str();
    else
      EXPECT_EQ(one.text.find(barrier), llvm::StringRef::npos) << "a barrier in " << one.name.str() << " needs a test";
  }
  EXPECT_EQ(runAll(kernels, header), "");
  EXPECT_EQ(takeOutEach(header, [&] { return runAll(kernels, header); }), 3);
  int inKernels = 0;
  for (cuda::CudaKernel &kernel : kernels)
    inKernels += takeOutEach(kernel.source, [&] { return runAll(kernels, header); });
  EXPECT_EQ(inKernels, 1);
}

} // namespace
