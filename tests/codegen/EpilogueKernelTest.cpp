// The kernels that compute GELU and its gradient where cuBLASLt does not, for a CPU and emulated for CUDA, in place.

#include "KernelCheck.h"
#include "codegen/program/EpilogueKernels.h"
#include "ir/dialect/Gelu.h"
#include "mlir/IR/Verifier.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

ContractionGemm describe(ElementType type, Epilogue epilogue, int64_t rows, int64_t columns, int64_t allocated) {
  ContractionGemm gemm;
  gemm.a.type = gemm.b.type = gemm.c.type = type;
  gemm.c.dims = {rows, columns}, gemm.c.strides = {allocated, 1};
  gemm.epilogue = epilogue;
  gemm.hasAux = epilogue == Epilogue::GeluGrad;
  return gemm;
}

std::string textOf(const ContractionGemm &gemm) {
  MLIRContext context;
  context.loadDialect<TsrDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  buildEpilogueKernel(*module, gemm);
  EXPECT_TRUE(succeeded(verify(*module)));
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

/// Compares the results with the formulas of Gelu.h.
void checkFormula(LoadedKernels &loaded, LoadedKernels::Kernel &kernel, const ContractionGemm &gemm) {
  std::mt19937 random(1);
  std::vector<TensorValue> arguments;
  for (Type type : kernel.op->getOperandTypes())
    arguments.push_back(randomTensor(cast<NamedTensorType>(type), random, -4, 4));
  std::vector<TensorValue> results = loaded.run(kernel, arguments);
  ASSERT_EQ(loaded.errors, "");
  double bound = gemm.c.type == ElementType::F32 ? 4e-6 : gemm.c.type == ElementType::F16 ? 4e-3 : 3e-2;
  std::vector<double> sums(gemm.n(), 0.0);
  for (size_t i = 0; i < results[0].data.size(); ++i) {
    double x = arguments[0].data[i];
    double expected = gemm.hasAux ? x * geluDerivative(arguments[1].data[i]) : gelu(x);
    sums[i % gemm.n()] += expected;
    ASSERT_NEAR(results[0].data[i], expected, bound * (1 + std::abs(expected))) << i;
  }
  ASSERT_EQ(results.size(), gemm.bias ? 2u : 1u);
  for (int64_t i = 0; gemm.bias && i < gemm.n(); ++i)
    ASSERT_NEAR(results[1].data[i], sums[i], bound * static_cast<double>(gemm.m())) << i;
}

void checkAll(const ContractionGemm &gemm) {
  std::string text = textOf(gemm);
  SCOPED_TRACE(text);
  CheckOptions options;
  options.inPlace = {0};
  if (gemm.bias) options.inPlace.push_back(-1);
  if (gemm.c.type != ElementType::F32) options.tolerance = 1e-2; // of a result that is rounded to the other side
  for (llvm::StringRef march : {"native", "cuda"}) {
    LoadedKernels loaded(text, march);
    ASSERT_EQ(loaded.errors, "");
    for (LoadedKernels::Kernel &kernel : loaded.kernels) {
      checkKernel(loaded, kernel, options);
      checkFormula(loaded, kernel, gemm);
    }
  }
}

TEST(EpilogueKernels, AreGeluAndItsGradient) {
  for (ElementType type : {ElementType::F32, ElementType::BF16, ElementType::F16})
    for (Epilogue epilogue : {Epilogue::Gelu, Epilogue::GeluGrad}) checkAll(describe(type, epilogue, 37, 48, 48));
}

/// Between rows that are longer in memory nothing is written.
TEST(EpilogueKernels, HaveRowsAsInMemory) {
  for (Epilogue epilogue : {Epilogue::Gelu, Epilogue::GeluGrad}) {
    checkAll(describe(ElementType::BF16, epilogue, 5, 40, 56));
    checkAll(describe(ElementType::F32, epilogue, 1, 8, 8));
  }
}

TEST(EpilogueKernels, SumTheGradientAlongRows) {
  for (auto [rows, columns, allocated] : {std::array{300, 64, 72}, {1, 8, 8}, {129, 24, 24}}) {
    ContractionGemm gemm = describe(ElementType::F32, Epilogue::GeluGrad, rows, columns, allocated);
    gemm.bias = {0, 1};
    checkAll(gemm);
  }
}

} // namespace
