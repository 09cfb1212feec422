//===- RandomGraphTest.cpp - random programs through every pass -----------===//
//
//   random-graph-tests [--graphs=300] [--first-seed=0] [--until=schedule] [--print]
//
// Each program is interpreted in f64 before and after every phase. The phases
// must agree within 1e-9 of the largest number of each tensor (of 1, if that is
// larger); gradients agree with central differences of the loss along random
// directions. `--print` writes each program before it is checked.
//
//===----------------------------------------------------------------------===//

#include "tests/random/RandomGraph.h"
#include "ir/Program.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "llvm/Support/Signals.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int graphs = 300, firstSeed = 0, currentSeed = 0;
static bool printsPrograms = false;
static std::string until = "schedule"; // The last phase to check.
static constexpr double tolerance = 1e-9;

static std::string text(ModuleOp module) {
  std::string result;
  llvm::raw_string_ostream out(result);
  module->print(out);
  return result;
}

namespace {
/// One program and what was found wrong with it.
class ProgramCheck {
public:
  explicit ProgramCheck(unsigned seed)
      : seed(seed), program(makeRandomProgram(context, seed, Float64Type::get(&context))) {}

  /// Returns the first thing found wrong; empty if there is none.
  std::string run();
  std::string programText() { return text(*program); }

private:
  std::string checkPhases(const Trace &parsed, const Trace &optimized);
  std::string checkGradients(ModuleOp optimized);
  FailureOr<double> lossAt(const Values &values);
  FailureOr<Trace> interpret(ModuleOp module, bool withSteps) {
    InterpreterTarget target(Rounding::Double);
    if (failed(target.load(module))) return failure();
    return trace(target, module, withSteps);
  }

  MLIRContext context;
  unsigned seed;
  OwningOpRef<ModuleOp> program;
};
} // namespace

/// Where two traces differ; empty if they agree.
static std::string compare(const Trace &expected, const Trace &got) {
  for (auto &[name, value] : expected) {
    auto it = got.find(name);
    if (it == got.end()) return name + " is missing";
    double difference = maxDifference(value, it->second), norm = maxNorm(value);
    if (difference > tolerance * std::max(1.0, norm))
      return name + " differs by " + std::to_string(difference) + ", its largest number is " + std::to_string(norm);
  }
  for (auto &[name, value] : got)
    if (!expected.count(name)) return name + " is new";
  return "";
}

static bool isWellConditioned(const TensorValue &value) {
  return llvm::all_of(value.data, [](double number) { return std::abs(number) < 1e3; });
}

std::string ProgramCheck::run() {
  if (failed(verify(*program))) return "the program is malformed";
  FailureOr<Trace> parsed = interpret(*program, false);
  if (failed(parsed)) return "parse: cannot be interpreted";
  for (auto &[name, value] : *parsed)
    if (isa<FloatType>(value.type.getElementType()) && !isWellConditioned(value))
      return "parse: " + name + " is badly conditioned";

  // Without simplification first: what the other phases are compared with.
  OwningOpRef<ModuleOp> plain = cast<ModuleOp>(program->getOperation()->clone());
  PassManager pm(&context);
  pm.addPass(createDifferentiatePass());
  pm.addPass(createOptimizePass());
  if (failed(pm.run(*plain))) return "differentiate or optimize fails";
  if (std::string wrong = checkGradients(*plain); !wrong.empty()) return wrong;
  FailureOr<Trace> optimized = interpret(*plain, true);
  if (failed(optimized)) return "optimize: cannot be interpreted";
  return checkPhases(*parsed, *optimized);
}

std::string ProgramCheck::checkPhases(const Trace &parsed, const Trace &optimized) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program->getOperation()->clone());
  for (StringRef phase : phaseNames().drop_front()) {
    if (phaseIndex(phase) > phaseIndex(until)) break;
    PipelineOptions options;
    options.compileTo = phase.str();
    if (failed(runPipeline(*module, options))) return (phase + ": fails").str();
    bool withSteps = phaseIndex(phase) >= phaseIndex("optimize");
    FailureOr<Trace> after = interpret(*module, withSteps);
    if (failed(after)) return (phase + ": cannot be interpreted").str();
    if (std::string wrong = compare(withSteps ? optimized : parsed, *after); !wrong.empty())
      return (phase + ": " + wrong).str();
  }
  return "";
}

FailureOr<double> ProgramCheck::lossAt(const Values &values) {
  InterpreterTarget target(Rounding::Double);
  if (failed(target.load(*program))) return failure();
  auto results = target.run("evaluate", values);
  if (failed(results)) return failure();
  return results->at("output loss").data[0];
}

/// Along a random direction the loss changes by the product of gradient and direction. At a kink it need not: three
/// directions are tried, and one must agree.
std::string ProgramCheck::checkGradients(ModuleOp optimized) {
  InterpreterTarget target(Rounding::Double);
  if (failed(target.load(optimized))) return "optimize: not loaded";
  auto step = optimized.lookupSymbol<func::FuncOp>("step");
  auto values = target.run("init", makeInputs(optimized.lookupSymbol<func::FuncOp>("init"), 0));
  if (failed(values)) return "init: cannot be interpreted";
  for (auto &[name, value] : makeInputs(step, 1)) (*values)[name] = value;
  auto results = target.run("step", *values);
  if (failed(results)) return "optimize: step cannot be interpreted";

  std::string wrong;
  Choices choices(seed + 77);
  for (int attempt = 0; attempt < 3; ++attempt) {
    constexpr double epsilon = 1e-6;
    Values above = *values, below = *values;
    double slope = 0;
    for (auto &[name, gradient] : *results) {
      if (!StringRef(name).starts_with("output gradient ")) continue;
      std::string state = "state " + name.substr(StringRef("output gradient ").size());
      for (size_t i = 0; i < gradient.data.size(); ++i) {
        double direction = choices.real(-1, 1);
        slope += direction * gradient.data[i];
        above[state].data[i] += epsilon * direction;
        below[state].data[i] -= epsilon * direction;
      }
    }
    FailureOr<double> high = lossAt(above), low = lossAt(below);
    if (failed(high) || failed(low)) return "evaluate: cannot be interpreted";
    double difference = (*high - *low) / (2 * epsilon);
    if (std::abs(slope - difference) <= 1e-5 + 1e-4 * std::abs(difference)) return "";
    wrong = "gradient gives " + std::to_string(slope) + ", differences " + std::to_string(difference);
  }
  return wrong;
}

TEST(RandomGraphs, EveryPhaseKeepsWhatTheProgramComputes) {
  std::map<std::string, std::vector<int>> failures; // Seeds by what is wrong, without the numbers.
  for (currentSeed = firstSeed; currentSeed < firstSeed + graphs; ++currentSeed) {
    ProgramCheck check(currentSeed);
    if (printsPrograms) llvm::outs() << check.programText() << "\n";
    llvm::outs().flush();
    std::string wrong = check.run();
    if (wrong.empty()) continue;
    failures[wrong.substr(0, wrong.find(' '))].push_back(currentSeed);
    ADD_FAILURE() << "seed " << currentSeed << ": " << wrong;
  }
  for (auto &[kind, seeds] : failures)
    llvm::errs() << kind << " " << seeds.size() << " seeds, the first is " << seeds.front() << "\n";
}

/// The criterion by which targets are judged accepts another order of rounding: that of the program before it is fused.
TEST(RandomGraphs, TheCriterionAcceptsAnotherOrderOfRounding) {
  int refused = 0;
  for (currentSeed = firstSeed; currentSeed < firstSeed + graphs; ++currentSeed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> unfused = makeRandomProgram(context, currentSeed, Float32Type::get(&context));
    PipelineOptions options;
    options.compileTo = "optimize";
    ASSERT_TRUE(succeeded(runPipeline(*unfused, options))) << "seed " << currentSeed;
    OwningOpRef<ModuleOp> fused = cast<ModuleOp>(unfused->getOperation()->clone());
    options.compileTo = "fuse";
    ASSERT_TRUE(succeeded(runPipeline(*fused, options))) << "seed " << currentSeed;
    InterpreterTarget target(Rounding::Types);
    FailureOr<TargetError> error = judge(target, *unfused, *fused);
    ASSERT_TRUE(succeeded(error)) << "seed " << currentSeed;
    EXPECT_TRUE(error->isAccepted()) << "seed " << currentSeed;
    // The other way round the roundings of one program judge those of the other.
    struct Other : InterpreterTarget {
      ModuleOp module;
      explicit Other(ModuleOp module) : InterpreterTarget(Rounding::Types), module(module) {}
      LogicalResult load(ModuleOp) override { return InterpreterTarget::load(module); }
    } other(*unfused);
    error = judge(other, *fused, {});
    ASSERT_TRUE(succeeded(error)) << "seed " << currentSeed;
    if (error->isAccepted()) continue;
    ++refused;
    llvm::outs() << "seed " << currentSeed << ": " << error->tensor << " " << error->error << ", rounding "
                 << error->rounding << "\n";
  }
  // By luck one order may be nearly exact, and at a kink (of max, abs) roundings fall on unlike sides.
  EXPECT_LE(refused, 1 + graphs / 50);
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    if (argument.consume_front("--graphs="))
      (void)argument.getAsInteger(10, graphs);
    else if (argument.consume_front("--first-seed="))
      (void)argument.getAsInteger(10, firstSeed);
    else if (argument.consume_front("--until="))
      until = argument.str();
    else if (argument == "--print")
      printsPrograms = true;
    else
      return llvm::errs() << "unknown argument " << argument << "\n", 2;
  }
  // A crash names its seed.
  llvm::sys::AddSignalHandler([](void *) { llvm::errs() << "seed " << currentSeed << "\n"; }, nullptr);
  return RUN_ALL_TESTS();
}
