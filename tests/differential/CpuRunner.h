//===- CpuRunner.h - runs generated CPU code -----------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_CPURUNNER_H
#define TESSERA_TESTS_DIFFERENTIAL_CPURUNNER_H

#include "tests/differential/Runner.h"
#include <memory>

namespace tessera::runtime {
class LoadedProgram;
}

namespace tessera::test {

/// Compiles a scheduled module as `tessera compile` does and runs it in this process through the runtime.
class CpuRunner : public Runner {
public:
  explicit CpuRunner(int threads);
  ~CpuRunner() override;
  llvm::StringRef getName() const override { return "cpu"; }
  llvm::LogicalResult load(mlir::ModuleOp scheduled) override;
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;

private:
  int threads;
  mlir::ModuleOp module;
  std::unique_ptr<runtime::LoadedProgram> program;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_CPURUNNER_H
