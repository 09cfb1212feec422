//===- BackendChoice.cpp - the back end of a module's target --------------===//

#include "codegen/program/BackendChoice.h"
#include "codegen/cpu/CpuBackend.h"

using namespace mlir;
using namespace tessera;

FailureOr<std::unique_ptr<Backend>> tessera::chooseBackend(ModuleOp module, const CpuTarget &host,
                                                           const CodegenOptions &options) {
  FailureOr<Target> target = Target::read(module);
  if (failed(target)) return failure();
  std::unique_ptr<Backend> backend;
  switch (target->kind) {
  case Target::Kind::Cpu:
    backend = std::make_unique<CpuBackend>(*target, host);
    break;
  case Target::Kind::Gpu:
    if (!options.cuda || options.cuda->architectures.empty())
      return module.emitError(
          "expected a GPU architecture, got none that NVRTC compiles for by default; name one: --target=cuda:sm_90a");
    backend = std::make_unique<CudaBackend>(*target, *options.cuda);
    break;
  }
  return backend;
}
