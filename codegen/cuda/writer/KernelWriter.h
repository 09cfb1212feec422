//===- KernelWriter.h - from a kernel's plan to CUDA C++ --------------------===//
//
// The generated function, for a thread group at a point (passes/kernel/ThreadMapping.h):
//
//   which point is it; values of the row that need no sweep
//   for sweep in sweeps
//     for serial vectors of this thread: accumulate, or write elements
//     reduce over the thread group; values of the row that are known now
//   write row values
//
// Where a thread has several neighbours at once, loads and stores move them together, and a loop over `j` computes them
// one by one. A value that such a loop leaves to others is a `tsr::vec`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_KERNELWRITER_H
#define TESSERA_CODEGEN_CUDA_KERNELWRITER_H

#include "codegen/cuda/writer/ScopeWriter.h"
#include "passes/kernel/ThreadMapping.h"

namespace tessera::cuda {

class KernelWriter : public ScopeWriter {
public:
  KernelWriter(const KernelPlan &plan, const ThreadMapping &mapping);

  /// The function's text; fails with a message on an op for which there is no code. `isPart`: of a launch that runs
  /// other kernels too; the function is given the number of its block.
  llvm::FailureOr<std::string> write(llvm::StringRef symbol, bool isPart = false);

private:
  /// What is computed at one place, and what is done with it.
  struct Step {
    llvm::SmallVector<Value> items;      ///< in order; those that are known already are left out
    llvm::SmallVector<ReduceOp> reduces; ///< to be accumulated
    llvm::SmallVector<unsigned> stores;  ///< results to be written
    bool storesOnce = false;             ///< by one thread of the thread group
  };

  // KernelWriter.cpp: the function around the sweeps, items.
  void writeSignature(llvm::StringRef symbol, bool isPart);
  void writePoint();
  void writeRowStep(unsigned stage);
  void writeStep(const Step &step);
  void writeLanes(const Step &step, llvm::ArrayRef<Value> items);
  void writeRead(Value item) override;

  // SweepWriter.cpp: the serial loops.
  void writeSweep(unsigned number);
  void openSerialLoops(const Sweep &sweep);
  void closeSerialLoops();
  void declareAccumulators(const Sweep &sweep);
  void reduceOverGroup(const Sweep &sweep);
  void writeAccumulation(ReduceOp reduce);
  /// Values that are read in several sweeps and stay in registers.
  void declareKept();

  // ScatterWriter.cpp: kernels of rule 4 (docs/ir.md).
  void writeScatter();
  void writeScatterByPoints();
  void writeScatterByPositions();
  void openFill();
  void writeFill(llvm::StringRef place);
  void closeFill();
  void writeAddition(llvm::StringRef place);
  void writeWhatIsNeededFor(mlir::ValueRange roots);
  std::pair<std::string, std::string> positionOf();
  std::string offsetOf(llvm::StringRef position);

  int64_t vectorOf(unsigned loop) const override { return isVectorLoop(loop) ? mapping.vector : 1; }
  /// Whether a value differs between the lanes of a vector.
  bool isVector(Value item) const { return mapping.vector > 1 && (plan.varies.lookup(item) & plan.loops.vectorMask()); }
  bool isRow(Value item) const { return (plan.varies.lookup(item) & ~plan.loops.parallelMask()) == 0; }
  bool isVectorLoop(unsigned loop) const { return mapping.vector > 1 && static_cast<int>(loop) == plan.loops.vector; }
  bool isVectorAccess(const Access &access) const {
    return mapping.vector > 1 && tessera::isVectorAccess(plan, access, mapping);
  }
  /// Whether a value of a row is used elsewhere than in the step that computes it.
  bool isUsedLater(Value item) const;

  const KernelPlan &plan;
  const ThreadMapping &mapping;
  std::string blockNumber = "blockIdx.x";
  bool isExact = true;                             ///< whether every thread of the grid has a point
  llvm::DenseMap<Value, std::string> accumulators; ///< by the reduction's result
  llvm::DenseMap<Value, std::string> keptNames;    ///< arrays of what stays in registers between sweeps
  llvm::SmallPtrSet<Value, 4> keptLoaded;          ///< of those, what a sweep has loaded
  unsigned serialDepth = 0;
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_KERNELWRITER_H
