//===- Samples.h - random instances of differentiable ops -----------------===//

#ifndef TESSERA_TESTS_IR_SAMPLES_H
#define TESSERA_TESTS_IR_SAMPLES_H

#include "ir/dialect/GraphBuilder.h"
#include "ir/interpreter/Interpreter.h"
#include <functional>
#include <map>
#include <random>

namespace tessera::test {

/// A function under construction that uses one op on random shapes. Sizes belong to axis names: within a sample an axis
/// has one size.
class Sample : public GraphBuilder {
public:
  using Axes = std::vector<std::string>;

  Sample(mlir::ModuleOp module, unsigned seed);

  // Choices.
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  bool coin() { return integer(0, 1); }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  /// Between `least` and `most` of the given names, in canonical order.
  Axes choose(const Axes &from, int least, int most);
  /// Some axes of `a, b, c, d`.
  Axes someAxes(int least = 0, int most = 3) { return choose({"a", "b", "c", "d"}, least, most); }

  // Types.
  AxisAttr axis(llvm::StringRef name);
  void setSize(llvm::StringRef name, int64_t size) { sizes[name] = size; }
  NamedTensorType floats(const Axes &axes) { return tensor(axes, getF64Type()); }
  NamedTensorType tensor(const Axes &axes, mlir::Type elementType);

  // Arguments, with numbers drawn from a range.
  mlir::Value input(const Axes &axes, double low = -2, double high = 2) { return argument(floats(axes), low, high); }
  /// Positions in [low, high], whole numbers.
  mlir::Value positions(const Axes &axes, int low, int high);
  /// A number whose distance from zero is between `low` and `high`, of either sign.
  mlir::Value awayFromZero(const Axes &axes, double low, double high);

  mlir::func::FuncOp function;
  llvm::SmallVector<TensorValue> arguments;

private:
  mlir::Value argument(NamedTensorType type, double low, double high);
  TensorValue &addArgument(NamedTensorType type);

  std::mt19937 random;
  llvm::StringMap<int64_t> sizes;
};

/// Names as string references.
inline llvm::SmallVector<llvm::StringRef> refs(const Sample::Axes &names) { return {names.begin(), names.end()}; }

/// Builds an op into a sample and returns what the loss shall depend on.
using SampleMaker = std::function<llvm::SmallVector<mlir::Value>(Sample &)>;

/// The makers by op name.
using SampleTable = std::map<std::string, SampleMaker>;

void addElementwiseSamples(SampleTable &table);
void addAxisSamples(SampleTable &table);
void addCompositeSamples(SampleTable &table);
void addRepeatSamples(SampleTable &table);

} // namespace tessera::test

#endif // TESSERA_TESTS_IR_SAMPLES_H
