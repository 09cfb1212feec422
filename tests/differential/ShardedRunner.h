//===- ShardedRunner.h - divided programs, as if they were whole ----------===//
//
// Both runners take and return whole values. What is behind the end of a divided axis is a large number in inputs, so
// that a result that depends on it is wrong, and must be zero in state.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_DIFFERENTIAL_SHARDEDRUNNER_H
#define TESSERA_TESTS_DIFFERENTIAL_SHARDEDRUNNER_H

#include "ir/interpreter/Lockstep.h"
#include "tests/differential/Runner.h"

namespace tessera::test {

class ShardedRunner : public Runner {
public:
  /// `whole`: the program before `tsr-shard`.
  explicit ShardedRunner(mlir::ModuleOp whole) : whole(whole) {}
  llvm::LogicalResult load(mlir::ModuleOp loaded) override {
    divided = loaded;
    return llvm::success();
  }
  /// What is wrong with the values that ranks have: a state whose padding is not zero, an output that differs between
  /// ranks, an exchange that nobody answers. Empty if nothing is.
  const std::string &getProblem() const { return problem; }

protected:
  using Coordinates = llvm::StringMap<int64_t>;
  /// An argument of a rank; of all ranks if the module has wide form.
  TensorValue argumentFor(mlir::func::FuncOp entry, unsigned argument, const Values &values,
                          const Coordinates &coordinates);
  /// Adds what a rank has of a result to the whole.
  void addPart(mlir::func::FuncOp entry, unsigned result, const TensorValue &part, const Coordinates &coordinates,
               Values &wholes);

  mlir::ModuleOp whole, divided;
  std::string problem;
};

/// Runs a program after `tsr-partition` in the interpreter.
class WideRunner : public ShardedRunner {
public:
  using ShardedRunner::ShardedRunner;
  llvm::StringRef getName() const override { return "interpreter of wide form"; }
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;
};

/// Runs a program after `tsr-localize` on all ranks of its mesh.
class RanksRunner : public ShardedRunner {
public:
  using ShardedRunner::ShardedRunner;
  llvm::StringRef getName() const override { return "interpreter on ranks"; }
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_DIFFERENTIAL_SHARDEDRUNNER_H
