//===- ContractionHarness.cpp - compiles a contraction in this process ----===//

#include "ContractionHarness.h"
#include "KernelHarness.h"
#include "codegen/cpu/object/Link.h"
#include "codegen/cpu/object/ObjectCode.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Verifier.h"
#include <dlfcn.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

ContractionGemm test::denseGemm(int64_t batch, int64_t m, int64_t n, int64_t k, bool transposedA, bool transposedB) {
  ContractionGemm gemm;
  gemm.a.dims = {batch, m, k}, gemm.b.dims = {batch, k, n}, gemm.c.dims = {batch, m, n};
  gemm.a.strides = transposedA ? std::vector<int64_t>{m * k, 1, m} : std::vector<int64_t>{m * k, k, 1};
  gemm.b.strides = transposedB ? std::vector<int64_t>{k * n, 1, k} : std::vector<int64_t>{k * n, n, 1};
  gemm.c.strides = {m * n, n, 1};
  return gemm;
}

CompiledContraction::CompiledContraction(const ContractionGemm &gemm, StringRef march,
                                         llvm::function_ref<void(CpuTarget &)> adjust, const FusedGemms &fused) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<LLVM::LLVMDialect>();
  llvm::raw_string_ostream messages(error);
  FailureOr<CpuTarget> target = CpuTarget::get(march, messages);
  if (failed(target)) return;
  adjust(*target);
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  KernelCodegen codegen(*module, *target);
  interface = codegen.emit(gemm, fused, "contraction");
  usesAmx = codegen.usesAmx();
  if (failed(verify(*module))) {
    error = "the code does not verify";
    return;
  }
  FailureOr<std::vector<std::string>> objects = compileToObjects(*module, *target, /*threads=*/1);
  if (failed(objects)) return;
  FailureOr<std::string> shared = linkSharedObject(*objects, messages);
  if (failed(shared) || !(library = loadLibrary(*shared, error))) return;
  code = reinterpret_cast<TsrKernel>(dlsym(library, interface.name.c_str()));
  if (!code) error = "the code lacks its function";
}

CompiledContraction::~CompiledContraction() {
  if (library) dlclose(library);
}
