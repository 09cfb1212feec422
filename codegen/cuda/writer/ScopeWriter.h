//===- ScopeWriter.h - values of kernels as C++ in nested scopes ------------===//
//
// What all writers of CUDA code share: names, what is known in which scope, places of elements, ops as expressions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_SCOPEWRITER_H
#define TESSERA_CODEGEN_CUDA_SCOPEWRITER_H

#include "codegen/cuda/writer/Text.h"
#include "passes/kernel/KernelPlan.h"
#include "llvm/ADT/StringSet.h"

namespace tessera::cuda {

class ScopeWriter {
public:
  virtual ~ScopeWriter() = default;

  /// The C++ types of the parameters: operands, then results.
  llvm::ArrayRef<std::string> getParameterTypes() const { return parameterTypes; }

protected:
  using Value = mlir::Value;
  /// Numbers that a value has where it is known.
  enum class Many { One, PerLane, PerRow };
  /// How a value is written where it is used: in front of and behind the number of the lane or row, if it has one.
  struct Known {
    std::string before, after;
    Many many = Many::One;
  };
  using Frame = llvm::DenseMap<Value, Known>;

  ScopeWriter();

  // Names and scopes.
  std::string unique(llvm::StringRef wanted);
  std::string nameOf(Value item);
  bool isKnown(Value item) const;
  std::string use(Value item) const;
  void know(Value item, Known known) { frames.back()[item] = std::move(known); }
  /// A parameter for an operand (named after what it is) or a result.
  void addParameter(Value value, llvm::StringRef name, bool isResult);

  // Items.
  void writeItem(Value item);
  virtual void writeRead(Value item);
  std::string computed(mlir::Operation *op);
  void declare(Value item, const llvm::Twine &expression);
  void fail(mlir::Operation *op);

  // Places of elements, in loops of the current plan.
  std::string expression(const LinearIndex &expr);
  std::string term(const NonlinearTerm &term);
  /// The condition under which an access exists; empty: always.
  std::string condition(const Access &access);
  std::string element(const Access &access); ///< `x[…]`
  std::string address(const Access &access); ///< `x + …`
  /// Declares the indices of loops [first, last), of which `number` counts the points, or vectors, row-major.
  void declareIndices(unsigned first, unsigned last, llvm::StringRef number);
  /// Neighbours along a loop that one thread has at once, and whether the code now is that of one of them.
  virtual int64_t vectorOf(unsigned loop) const { return 1; }
  /// What a parameter of the current plan is called.
  virtual std::string parameterOf(unsigned argument) const { return parameters[argument]; }

  const KernelPlan *current = nullptr;
  Text text;
  std::string indexType = "int";
  bool failed = false, inLane = false;
  std::string laneIndex = "j", rowIndex = "h"; ///< of values that there are many of
  std::vector<Frame> frames;
  llvm::StringSet<> taken;
  llvm::SmallVector<std::string> parameters, parameterTypes; ///< operands, then results
  llvm::SmallVector<std::string> indices; ///< of the loops; of a vector loop: where the vector starts
  std::string lastLine;                   ///< of the model, that a comment named
};

/// Largest number that an index may reach as an int.
inline constexpr int64_t largestInt = int64_t(1) << 31;

/// What a reduction is accumulated in, and how two of them become one.
struct Accumulator {
  std::string name, type, start, op;
};
/// Of a reduction that is no sum of a softmax; a maximum has that sum beside it if the plan says so.
Accumulator accumulatorFor(const KernelPlan &plan, ReduceOp reduce);

/// The largest number of an element that a draw or an index of the plan reaches.
int64_t largestPosition(const KernelPlan &plan);

/// The last part of the user's name of what a value is.
llvm::StringRef memoryName(mlir::Value value, llvm::StringRef other);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_SCOPEWRITER_H
