//===- KernelWriter.h - from a kernel's plan to CUDA C++ --------------------===//
//
// The generated function, for a team of threads at a point (codegen/cuda/Schedule.h):
//
//   which point is it; values of the row that need no sweep
//   for sweep in sweeps
//     for serial vectors of this thread: accumulate, or write elements
//     reduce over the team; values of the row that are known now
//   write row values
//
// Where a thread has several neighbours at once, loads and stores move them together, and a loop over `j` computes them one by
// one. A value that such a loop leaves to others is a `tsr::vec`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_KERNELWRITER_H
#define TESSERA_CODEGEN_CUDA_KERNELWRITER_H

#include "codegen/cuda/Schedule.h"
#include "codegen/cuda/Text.h"
#include "llvm/ADT/StringSet.h"

namespace tessera::cuda {

class KernelWriter {
public:
  KernelWriter(const KernelPlan &plan, const KernelSchedule &schedule);

  /// The function's text; fails with a message on an op for which there is no code.
  llvm::FailureOr<std::string> write(llvm::StringRef symbol);

  /// The C++ types of the parameters: operands, then results.
  llvm::ArrayRef<std::string> getParameterTypes() const { return parameterTypes; }

private:
  using Value = mlir::Value;
  /// How a value is written where it is used: in front of and behind the number of the lane, if it has one.
  struct Known {
    std::string before, after;
    bool isVector = false;
  };
  using Frame = llvm::DenseMap<Value, Known>;
  /// What is computed at one place, and what is done with it.
  struct Step {
    llvm::SmallVector<Value> items;      ///< in order; those that are known already are left out
    llvm::SmallVector<ReduceOp> reduces; ///< to be accumulated
    llvm::SmallVector<unsigned> stores;  ///< results to be written
    bool storesOnce = false;             ///< by one thread of the team
  };

  // KernelWriter.cpp: the function around the sweeps, items.
  void writeSignature(llvm::StringRef symbol);
  void writePoint();
  void writeRowStep(unsigned stage);
  void writeStep(const Step &step);
  void writeLanes(const Step &step, llvm::ArrayRef<Value> items);
  void writeItem(Value item);
  void writeRead(Value item);
  std::string computed(mlir::Operation *op);
  void declare(Value item, const llvm::Twine &expression);
  void fail(mlir::Operation *op);

  // SweepWriter.cpp: the serial loops.
  void writeSweep(unsigned number);
  void openSerialLoops(const Sweep &sweep);
  void closeSerialLoops();
  void declareAccumulators(const Sweep &sweep);
  void reduceOverTeam(const Sweep &sweep);
  void writeAccumulation(ReduceOp reduce);
  /// Values that are read in several sweeps and stay in registers.
  void declareKept();

  // ScatterWriter.cpp: kernels of rule 4 (docs/ir.md).
  void writeScatter();

  // Expressions.cpp: places of elements.
  std::string expression(const Expr &expr);
  std::string term(const Nonlinear &term);
  /// The condition under which an access exists; empty: always.
  std::string condition(const Access &access);
  std::string element(const Access &access); ///< `x[…]`
  std::string address(const Access &access); ///< `x + …`
  /// Declares the indices of loops [first, last), of which `number` counts the points, or vectors, row-major.
  void declareIndices(unsigned first, unsigned last, llvm::StringRef number);

  /// Whether a value differs between the lanes of a vector.
  bool isVector(Value item) const { return schedule.vector > 1 && (plan.varies.lookup(item) & plan.vectorMask()); }
  bool isRow(Value item) const { return (plan.varies.lookup(item) & ~plan.parallelMask()) == 0; }
  bool isVectorLoop(unsigned loop) const { return schedule.vector > 1 && static_cast<int>(loop) == plan.vectorLoop; }
  bool isVectorAccess(const Access &access) const {
    return schedule.vector > 1 && cuda::isVectorAccess(plan, access, schedule.vector);
  }
  /// Whether a value of a row is used elsewhere than in the step that computes it.
  bool isUsedLater(Value item) const;
  bool isKnown(Value item) const;
  std::string use(Value item) const;
  void know(Value item, Known known) { frames.back()[item] = std::move(known); }
  std::string unique(llvm::StringRef wanted);
  std::string nameOf(Value item);

  const KernelPlan &plan;
  const KernelSchedule &schedule;
  Text text;
  std::string indexType = "int";
  bool failed = false, isExact = true, inLane = false;
  std::vector<Frame> frames;
  llvm::StringSet<> taken;
  llvm::SmallVector<std::string> parameters, parameterTypes; ///< operands, then results
  llvm::SmallVector<std::string> indices;          ///< of the loops; of the vector loop: where the vector starts
  llvm::DenseMap<Value, std::string> accumulators; ///< by the reduction's result
  llvm::SmallVector<Value> kept;
  llvm::DenseMap<Value, std::string> keptNames;
  unsigned serialDepth = 0;
  std::string lastLine; ///< of the model, that a comment named
};

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_KERNELWRITER_H
