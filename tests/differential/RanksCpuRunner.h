//===- RanksCpuRunner.h - generated CPU code on several ranks -------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_RANKSCPURUNNER_H
#define TESSERA_TESTS_DIFFERENTIAL_RANKSCPURUNNER_H

#include "tests/differential/ShardedRunner.h"
#include <memory>

namespace tessera::test {

/// Compiles a scheduled module for several ranks as `tessera compile` does, and runs it on all of them. Each is a
/// thread with a program and an arena of its own, and they exchange bytes in memory.
class RanksCpuRunner : public ShardedRunner {
public:
  explicit RanksCpuRunner(mlir::ModuleOp whole);
  ~RanksCpuRunner() override;
  llvm::StringRef getName() const override { return "cpu on ranks"; }
  llvm::LogicalResult load(mlir::ModuleOp scheduled) override;
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;

private:
  struct Rank;
  struct Groups;
  /// Runs `work` on a thread for each rank. Fails with the error of the first that throws.
  llvm::LogicalResult onAllRanks(mlir::Operation *op, llvm::function_ref<void(Rank &)> work);

  ProgramMesh mesh;
  std::unique_ptr<Groups> groups;
  std::vector<std::unique_ptr<Rank>> ranks;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_RANKSCPURUNNER_H
