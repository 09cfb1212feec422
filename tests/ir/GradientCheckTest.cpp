//===- GradientCheckTest.cpp - every adjoint against differences ----------===//
//
// For every op with an adjoint: random samples in f64, a loss that weighs its
// results at random, `tsr-differentiate`, and central differences of each
// input element. An op without samples fails.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tests/ir/Samples.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr unsigned samplesPerOp = 40;
static constexpr double step = 1e-6, absoluteTolerance = 1e-5, relativeTolerance = 1e-3;

static const SampleTable &sampleTable() {
  static const SampleTable table = [] {
    SampleTable table;
    addElementwiseSamples(table);
    addAxisSamples(table);
    addCompositeSamples(table);
    addRepeatSamples(table);
    return table;
  }();
  return table;
}

namespace {
/// One sample as two functions: `loss`, and `gradient` with the gradients of all floating-point inputs.
class GradientCheck {
public:
  GradientCheck(const SampleMaker &make, unsigned seed) {
    context.loadDialect<TsrDialect, func::FuncDialect>();
    module = ModuleOp::create(UnknownLoc::get(&context));
    Builder names(&context);
    module->getOperation()->setAttr(
        "tsr.axes", names.getStrArrayAttr({"layer", "inner", "a", "b", "q", "key", "c", "d", "e", "f", "g", "h"}));
    Sample sample(*module, seed);
    Value loss = buildLoss(sample, make(sample));
    finish(sample.function, loss);
    buildGradient(sample.function);
    arguments = sample.arguments;
  }

  void run() {
    ASSERT_TRUE(succeeded(verify(*module))) << text();
    PassManager pm(&context);
    pm.addPass(createDifferentiatePass());
    ASSERT_TRUE(succeeded(pm.run(*module))) << text();
    auto gradients = Interpreter().run(module->lookupSymbol<func::FuncOp>("gradient"), arguments);
    ASSERT_TRUE(succeeded(gradients)) << text();
    size_t k = 0;
    for (TensorValue &argument : arguments)
      if (argument.type.getElementType().isF64()) compare(argument, (*gradients)[k++]);
  }

private:
  /// The sum of the results, each element with a weight of its own; some results may be left out.
  static Value buildLoss(Sample &s, SmallVector<Value> results) {
    Value loss;
    unsigned least = s.integer(0, results.size() - 1);
    for (auto [i, result] : llvm::enumerate(results)) {
      if (!tensorType(result).getElementType().isF64() || (i != least && s.integer(0, 2) == 0)) continue;
      Sample::Axes axes;
      for (AxisAttr axis : tensorType(result).getAxes()) {
        axes.push_back(axis.getName().str());
        s.setSize(axis.getName(), axis.getSize());
      }
      Value term = s.sumTo(s.mul(result, s.input(axes)), s.floats({}));
      loss = loss ? s.add(loss, term) : term;
    }
    return loss;
  }

  static void finish(func::FuncOp function, ValueRange results) {
    Block &block = function.getBody().front();
    OpBuilder builder(function.getContext());
    builder.setInsertionPointToEnd(&block);
    func::ReturnOp::create(builder, function.getLoc(), results);
    function.setType(builder.getFunctionType(block.getArgumentTypes(), results.getTypes()));
  }

  static void buildGradient(func::FuncOp lossFunction) {
    OpBuilder builder(lossFunction);
    auto function = cast<func::FuncOp>(builder.clone(*lossFunction));
    function.setName("gradient");
    Operation *end = function.getBody().front().getTerminator();
    Value loss = end->getOperand(0);
    auto wrt =
        llvm::filter_to_vector(function.getArguments(), [](Value v) { return tensorType(v).getElementType().isF64(); });
    SmallVector<Value> values(wrt.begin(), wrt.end());
    builder.setInsertionPoint(end);
    auto gradient = GradientOp::create(builder, function.getLoc(), ValueRange(values).getTypes(), loss, values);
    end->erase();
    finish(function, gradient.getGradients());
  }

  double lossAt() {
    auto loss = Interpreter().run(module->lookupSymbol<func::FuncOp>("loss"), arguments);
    return succeeded(loss) ? loss->front().data[0] : NAN;
  }

  void compare(TensorValue &argument, const TensorValue &gradient) {
    ASSERT_EQ(argument.type, gradient.type);
    for (size_t i = 0; i < argument.data.size(); ++i) {
      double at = argument.data[i];
      argument.data[i] = at + step;
      double above = lossAt();
      argument.data[i] = at - step;
      double below = lossAt();
      argument.data[i] = at;
      double difference = (above - below) / (2 * step);
      double tolerance = absoluteTolerance + relativeTolerance * std::abs(difference);
      ASSERT_NEAR(gradient.data[i], difference, tolerance)
          << "at element " << i << " of " << typeText(argument.type) << "\n"
          << text();
    }
  }

  static std::string typeText(Type type) {
    std::string result;
    llvm::raw_string_ostream(result) << type;
    return result;
  }

  std::string text() {
    std::string result;
    llvm::raw_string_ostream out(result);
    module->print(out);
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<TensorValue> arguments;
};
} // namespace

/// Names of all ops of the dialect that have an adjoint.
static std::vector<std::string> differentiableOps() {
  MLIRContext context;
  context.loadDialect<TsrDialect>();
  std::vector<std::string> names;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.hasInterface<AdjointOpInterface>()) names.push_back(op.getStringRef().str());
  return names;
}

class Gradient : public testing::TestWithParam<std::string> {};

TEST_P(Gradient, AgreesWithDifferences) {
  auto it = sampleTable().find(GetParam());
  ASSERT_NE(it, sampleTable().end()) << "no samples of " << GetParam() << ": add some in Samples*.cpp";
  for (unsigned seed = 0; seed < samplesPerOp; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(GradientCheck(it->second, seed).run());
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(differentiableOps()),
                         [](const auto &info) { return info.param.substr(4); });
