//===- ContractionHarness.h - compiles a contraction in this process ------===//

#ifndef TESSERA_TESTS_CODEGEN_CONTRACTIONHARNESS_H
#define TESSERA_TESTS_CODEGEN_CONTRACTIONHARNESS_H

#include "codegen/cpu/KernelCodegen.h"
#include "runtime/Abi.h"

namespace tessera::test {

/// c [batch, M, N] = a [batch, M, K] · b [batch, K, N], dense; `transposedA`: a is stored [K, M], likewise b.
ContractionGemm denseGemm(int64_t batch, int64_t m, int64_t n, int64_t k, bool transposedA, bool transposedB);

class CompiledContraction {
public:
  /// `march` is LLVM's name of a processor, or `native`. `adjust` may change the description of the processor. Check
  /// `error` afterwards: it is empty on success.
  explicit CompiledContraction(
      const ContractionGemm &gemm, llvm::StringRef march = "native",
      llvm::function_ref<void(CpuTarget &)> adjust = [](CpuTarget &) {}, const FusedGemms &fused = {});
  ~CompiledContraction();
  CompiledContraction(const CompiledContraction &) = delete;

  std::string error;
  KernelInterface interface;
  TsrKernel code = nullptr;
  bool usesAmx = false;

private:
  void *library = nullptr;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_CODEGEN_CONTRACTIONHARNESS_H
