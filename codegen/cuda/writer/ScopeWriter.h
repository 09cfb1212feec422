//===- ScopeWriter.h - values of kernels as C++ in nested scopes ------------===//
//
// The base of all writers of CUDA code: names, the values in scope, addresses of elements, ops as expressions.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CODEGEN_CUDA_WRITER_SCOPEWRITER_H
#define TESSERA_CODEGEN_CUDA_WRITER_SCOPEWRITER_H

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
  /// Whether the C++ name of a value is a scalar, or an array over the lanes of a vector or the rows of a lane.
  enum class Multiplicity { One, PerLane, PerRow };
  /// How a use of a value is written: `prefix`, the index of the lane or row if it has one, `suffix`.
  struct Binding {
    std::string prefix, suffix;
    Multiplicity multiplicity = Multiplicity::One;
  };
  using Frame = llvm::DenseMap<Value, Binding>;

  ScopeWriter();

  // Names and scopes.
  std::string unique(llvm::StringRef wanted);
  std::string nameOf(Value item);
  bool isBound(Value item) const;
  std::string use(Value item) const;
  void bind(Value item, Binding binding) { frames.back()[item] = std::move(binding); }
  /// Adds a parameter for an operand or a result.
  void addParameter(Value value, llvm::StringRef name, bool isResult);

  // Items.
  void writeItem(Value item);
  virtual void writeRead(Value item);
  std::string computed(mlir::Operation *op);
  void declare(Value item, const llvm::Twine &expression);
  void fail(mlir::Operation *op);

  // Addresses of elements, in the loops of the current plan.
  std::string expression(const LinearIndex &expr);
  std::string term(const NonlinearTerm &term);
  /// The condition under which an access is inside its tensor; empty if it always is.
  std::string condition(const Access &access);
  std::string element(const Access &access); ///< `x[…]`
  std::string address(const Access &access); ///< `x + …`
  /// Declares the indices of loops [first, last). `number` counts their points, or vectors, in row-major order.
  void declareIndices(unsigned first, unsigned last, llvm::StringRef number);
  /// Consecutive points along a loop that one thread computes together.
  virtual int64_t vectorOf(unsigned loop) const { return 1; }
  /// The first index of a loop and how many there are, or how many vectors.
  virtual std::pair<int64_t, int64_t> rangeOf(unsigned loop) const {
    return {0, current->loops.sizes[loop] / vectorOf(loop)};
  }
  /// The name of a parameter of the current plan.
  virtual std::string parameterOf(unsigned argument) const { return parameters[argument]; }

  const KernelPlan *current = nullptr;
  Text text;
  std::string indexType = "int";
  bool failed = false;
  bool inLane = false;                         ///< the current code is in a loop over the lanes of a vector
  std::string laneIndex = "j", rowIndex = "h"; ///< of values with that multiplicity
  std::vector<Frame> frames;
  llvm::StringSet<> taken;
  llvm::SmallVector<std::string> parameters, parameterTypes; ///< operands, then results
  llvm::SmallVector<std::string> indices;                    ///< by loop; of a vector loop: the start of the vector
  std::string lastLine;                                      ///< of the model that a comment has named
};

/// Indices below this are ints.
inline constexpr int64_t largestInt = int64_t(1) << 31;

/// The variable of a reduction, and the class that combines two of them.
struct Accumulator {
  std::string name, type, start, op;
};
/// The accumulator of a reduction that is not the sum of a softmax. That of a maximum includes such a sum if the plan
/// joins them.
Accumulator accumulatorFor(const KernelPlan &plan, ReduceOp reduce);

/// A bound of the positions that random draws and indices of the plan reach.
int64_t largestPosition(const KernelPlan &plan);

/// The last part of the user's name of a value; `other` if it has none.
llvm::StringRef memoryName(mlir::Value value, llvm::StringRef other);

} // namespace tessera::cuda

#endif // TESSERA_CODEGEN_CUDA_WRITER_SCOPEWRITER_H
