//===- ArenaTarget.h - the interpreter through an arena ----------------------===//

#ifndef TESSERA_TESTS_PASSES_MEMORY_ARENATARGET_H
#define TESSERA_TESTS_PASSES_MEMORY_ARENATARGET_H

#include "tests/differential/Runner.h"

namespace tessera::test {

/// Runs a scheduled module as compiled code would: every op reads its operands' bytes from their places in one arena
/// and writes its results to theirs. Values exist nowhere else, so buffers that overlap while both are needed give
/// wrong numbers. The arena is full of garbage before each entry function, but for state and inputs.
class ArenaTarget : public Runner {
public:
  llvm::StringRef getName() const override { return "arena"; }
  llvm::LogicalResult load(mlir::ModuleOp loaded) override;
  llvm::FailureOr<Values> run(llvm::StringRef entry, const Values &values) override;

private:
  llvm::LogicalResult runBlock(mlir::Block &block);
  llvm::LogicalResult runRepeat(RepeatOp repeat);
  llvm::LogicalResult runOp(mlir::Operation *op);
  void place(mlir::ValueRange values, mlir::ArrayAttr list);
  int64_t address(mlir::Value value) const;
  TensorValue read(mlir::Value value) const;
  void write(mlir::Value value, const TensorValue &numbers);

  mlir::ModuleOp module;
  std::vector<unsigned char> arena;
  llvm::DenseMap<mlir::Value, PlaceAttr> places;
  llvm::SmallVector<int64_t> inductions;
};

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_MEMORY_ARENATARGET_H
