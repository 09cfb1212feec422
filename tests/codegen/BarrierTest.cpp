//===- BarrierTest.cpp - every barrier of CUDA code is necessary ----------===//
//
// Each barrier in kernels, and in the device functions that they call, is removed in turn. The emulator must then
// report a race. So every barrier is necessary, and the emulator notices when one is missing.
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

/// Reductions of rows by a block, with two sweeps; of columns by the rows of a block; and a scatter.
constexpr const char *kernelsWithBarriers = R"(
!wide = !tsr.tensor<[row: 2, col: 4096], f32>
!row = !tsr.tensor<[row: 2], f32>
!long = !tsr.tensor<[row: 512, col: 96], f32>
!column = !tsr.tensor<[col: 96], f32>
!indices = !tsr.tensor<[row: 512], i32>
!words = !tsr.tensor<[word: 20, col: 96], f32>
func.func @rows(%x: !wide) -> !wide {
  %k = tsr.kernel "rows" (%a = %x : !wide) parallel ["row"] serial ["col"] vector "col" -> (!wide) {
    %m = tsr.reduce max %a over ["col"] : !wide -> !row
    %d = tsr.sub %a, %m : (!wide, !row) -> !wide
    tsr.yield %d : !wide
  }
  return %k : !wide
}
func.func @columns(%x: !long) -> !column {
  %k = tsr.kernel "columns" (%a = %x : !long) parallel ["col"] serial ["row"] vector "col" -> (!column) {
    %s = tsr.reduce sum %a over ["row"] : !long -> !column
    tsr.yield %s : !column
  }
  return %k : !column
}
func.func @positions(%x: !long, %i: !indices) -> !words {
  %k = tsr.kernel "positions" (%a = %x : !long, %b = %i : !indices) parallel ["col"] serial ["row"] vector "col"
      -> (!words) {
    %s = tsr.scatter_add %a [["word"] = %b] : (!long, !indices) -> !words
    tsr.yield %s : !words
  }
  return %k : !words
}
)";

constexpr llvm::StringLiteral barrier = "sync_block();";

/// What the emulator reports for all kernels with this header; empty if nothing.
std::string runAll(const std::vector<cuda::CudaKernel> &written, llvm::StringRef header) {
  std::vector<const cuda::CudaKernel *> kernels;
  for (const cuda::CudaKernel &kernel : written) kernels.push_back(&kernel);
  EmulatedKernels loaded(kernels, header);
  std::string reported = loaded.errors;
  std::vector<std::vector<char>> memory(3, std::vector<char>(512 * 96 * sizeof(float)));
  for (const cuda::CudaKernel *kernel : kernels) {
    std::vector<void *> arguments;
    for (size_t i = 0; i < kernel->parameterTypes.size(); ++i) arguments.push_back(memory[i].data());
    if (reported.empty()) reported = loaded.run(*kernel, arguments);
  }
  return reported;
}

/// Removes each call of a barrier from `text` in turn, and expects a race. `runs` returns what is reported without it.
/// Returns the number of calls.
int removeEach(std::string &text, llvm::function_ref<std::string()> runs) {
  const std::string whole = text;
  int barriers = 0;
  for (size_t at = whole.find(barrier); at != std::string::npos; at = whole.find(barrier, at + 1)) {
    size_t start = whole.rfind('\n', at) + 1;
    if (whole.substr(start, at - start).find("void ") != std::string::npos) continue; // its definition
    text = whole;
    text.replace(start, at + barrier.size() - start, at + barrier.size() - start, ' ');
    EXPECT_NE(runs().find("race"), std::string::npos) << "expected a race without the barrier after\n"
                                                      << whole.substr(at - std::min<size_t>(at, 200), 200);
    ++barriers;
  }
  text = whole;
  return barriers;
}

TEST(Barriers, EachIsNecessary) {
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
  EXPECT_EQ(removeEach(header, [&] { return runAll(kernels, header); }), 4);
  int inKernels = 0;
  for (cuda::CudaKernel &kernel : kernels)
    inKernels += removeEach(kernel.source, [&] { return runAll(kernels, header); });
  EXPECT_EQ(inKernels, 1);
}

} // namespace
