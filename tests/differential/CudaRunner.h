//===- CudaRunner.h - runs generated CUDA code, emulated -------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_CUDARUNNER_H
#define TESSERA_TESTS_DIFFERENTIAL_CUDARUNNER_H

#include "tests/differential/Runner.h"
#include <memory>

namespace tessera::test {

/// Compiles a scheduled module as `tessera compile --target=cuda` does, but for machine code, and runs it in this
/// process: entry functions as they are, kernels by Emulator.h, contractions by plain loops in f64, rounded once.
class CudaRunner : public Runner {
public:
  CudaRunner();
  ~CudaRunner() override;
  llvm::StringRef getName() const override { return "cuda"; }
  llvm::LogicalResult load(mlir::ModuleOp scheduled) override;
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;

private:
  struct Machine;
  mlir::ModuleOp module;
  std::unique_ptr<Machine> machine;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_CUDARUNNER_H
