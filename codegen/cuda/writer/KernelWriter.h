//===- KernelWriter.h - a kernel as CUDA C++ --------------------------------===//
//
// The generated function, for the thread group of a point (passes/kernel/ThreadMapping.h):
//
//   the indices of the point; row values that need no sweep
//   for sweep in sweeps
//     for serial vectors of this thread: accumulate, or store elements
//     reduce over the thread group; row values that are known now
//   store row values
//
// If a thread computes several consecutive points, loads and stores move them together, and a loop over `j` computes
// them one by one. A value that is used outside such a loop is a `tsr::vec`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H
#define TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H

#include "codegen/cuda/writer/ScopeWriter.h"
#include "passes/kernel/ThreadMapping.h"

namespace tessera::cuda {

class KernelWriter : public ScopeWriter {
public:
  KernelWriter(const KernelPlan &plan, const ThreadMapping &mapping);

  /// The function's text; fails with a message on an op for which there is no code. `isPart`: the function is a part of
  /// a horizontally fused launch, which passes it the number of its block.
  llvm::FailureOr<std::string> write(llvm::StringRef symbol, bool isPart = false);

private:
  /// A segment of straight-line code: values that it computes, and what it does with them.
  struct Segment {
    llvm::SmallVector<Value> items;      ///< in order; values in scope are skipped
    llvm::SmallVector<ReduceOp> reduces; ///< reductions to which it adds
    llvm::SmallVector<unsigned> stores;  ///< results that it stores
    bool storesOnce = false;             ///< one thread of the thread group stores
  };

  // KernelWriter.cpp: the function around the sweeps, items.
  void writeSignature(llvm::StringRef symbol, bool isPart);
  void writePoint();
  void writeRowStage(unsigned stage);
  void writeSegment(const Segment &segment);
  void writeLanes(const Segment &segment, llvm::ArrayRef<Value> items);
  void writeRead(Value item) override;

  // SweepWriter.cpp: the serial loops.
  void writeSweep(unsigned number);
  void openSerialLoops(const Sweep &sweep);
  void closeSerialLoops();
  void declareAccumulators(const Sweep &sweep);
  void reduceOverGroup(const Sweep &sweep);
  void writeAccumulation(ReduceOp reduce);
  /// Declares arrays for values that several sweeps read and that stay in registers.
  void declareRetained();

  // ScatterWriter.cpp: kernels of rule 4 (docs/ir.md).
  void writeScatter();
  void writeScatterByPoints();
  void writeScatterByPositions();
  void openFill();
  void writeFill(llvm::StringRef place);
  void closeFill();
  void writeAddition(llvm::StringRef place);
  void writeDependenciesOf(mlir::ValueRange roots);
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
  /// Whether a row value is used outside the segment that computes it.
  bool isUsedLater(Value item) const;

  const KernelPlan &plan;
  const ThreadMapping &mapping;
  std::string blockNumber = "blockIdx.x";
  bool isExact = true;                              ///< whether every thread of the grid has a point
  llvm::DenseMap<Value, std::string> accumulators;  ///< by the reduction's result
  llvm::DenseMap<Value, std::string> retainedNames; ///< arrays of values that stay in registers between sweeps
  llvm::SmallPtrSet<Value, 4> retainedLoaded;       ///< those that a sweep has loaded
  unsigned serialDepth = 0;
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H
