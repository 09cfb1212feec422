//===- KernelWriter.h - a kernel as CUDA C++ --------------------------------===//
//
// The generated function, for the thread group of a point (passes/kernel/ThreadMapping.h):
//
//   the indices of the point; row values that need no sweep
//   for sweep in sweeps
//     for serial vectors of this thread, several at a time: load all, then accumulate, or store elements
//     for serial elements that are no part of a whole vector: the same, one by one
//     reduce over the thread group; row values that are known now
//   store row values
//
// A result may have the storage of an operand, so the compiler cannot move a load before a store. Loads therefore come
// first in the text.
//
// If a thread computes several consecutive points, loads and stores move them together, and a loop over `j` computes
// them one by one. A value that is used outside such a loop is a `tsr::vec`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H
#define TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H

#include "codegen/cuda/writer/ScopeWriter.h"
#include "passes/kernel/ThreadMapping.h"
#include <functional>

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
    std::string addsTo;                  ///< the sum to which it adds the updates of a scatter; empty: none
  };

  // KernelWriter.cpp: the function around the sweeps, items.
  void writeSignature(llvm::StringRef symbol, bool isPart);
  void writePoint();
  void writeRowStage(unsigned stage);
  void writeSegment(const Segment &segment);
  void writeLanes(const Segment &segment, llvm::ArrayRef<Value> items);
  void writeRead(Value item) override;

  // BatchWriter.cpp: vectors that are loaded together.
  /// The code before a vector, whose number in the batch is `k`: the declaration of its number, the condition that
  /// there is such a vector, the indices of the loops. The first two may be empty.
  struct BatchVector {
    std::string declaration, condition;
    std::function<void()> declareIndices;
  };
  llvm::SmallVector<Value> batchLoads(const Segment &segment, uint64_t alongLoops) const;
  void declareArray(Value item, int64_t count);
  void bindLoaded(Value item);
  void writeBatch(const Segment &segment, llvm::ArrayRef<Value> loads, int64_t count, const BatchVector &each,
                  llvm::function_ref<void(const Segment &)> compute);
  void writePoints();
  void writeTailElements(const Segment &segment, unsigned first, unsigned last, llvm::StringRef number);

  // SweepWriter.cpp: the serial loops.
  void writeSweep(unsigned number);
  void writeVectors(const Segment &segment);
  void writeTail(const Segment &segment);
  void declareAccumulators(const Sweep &sweep);
  void reduceOverGroup(const Sweep &sweep);
  void writeAccumulation(ReduceOp reduce);
  /// Declares arrays for values that several sweeps read and that stay in registers.
  void declareRetained();

  // ScatterWriter.cpp: kernels of rule 4 (docs/ir.md).
  void writeScatter();
  void writeScatterByPoints();
  void writeScatterByPositions();
  void writeUnlessInPlace(llvm::function_ref<void()> fill);
  void writeFill(int64_t rows, bool allActive);
  void writeCollection();
  void writeRuns(int64_t rows, bool allActive);
  std::string added(llvm::StringRef sum);
  Segment dependenciesOf(mlir::ValueRange roots) const;
  std::pair<std::string, std::string> positionOf();
  std::string offsetOf(llvm::StringRef position);
  std::string vectorLoad(unsigned argument, llvm::StringRef offset);
  void writeVectorStore(llvm::StringRef offset, llvm::StringRef value);

  int64_t vectorOf(unsigned loop) const override { return plan.loops.isVector(loop) ? vector : 1; }
  std::pair<int64_t, int64_t> rangeOf(unsigned loop) const override;
  /// Whether a value differs between the lanes of a vector.
  bool isVector(Value item) const { return vector > 1 && plan.variesAlongVector(item); }
  bool isRow(Value item) const { return (plan.varies.lookup(item) & ~plan.loops.parallelMask()) == 0; }
  bool isVectorAccess(const Access &access) const {
    return vector > 1 && tessera::isVectorAccess(plan, access, mapping);
  }
  /// Whether a row value is used outside the segment that computes it.
  bool isUsedLater(Value item) const;

  const KernelPlan &plan;
  const ThreadMapping &mapping;
  std::string blockNumber = "blockIdx.x";
  bool isExact = true;                             ///< whether every thread of the grid has a point
  int64_t vector;                                  ///< consecutive elements that the current code computes at once
  bool inTail = false;                             ///< it computes elements that are no part of a whole vector
  llvm::DenseMap<Value, std::string> accumulators; ///< by the reduction's result
  llvm::DenseMap<Value, std::string> arrays;       ///< of values that are loaded for several vectors
  llvm::SmallPtrSet<Value, 4> loaded;              ///< those in arrays that hold their values
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_WRITER_KERNELWRITER_H
