//===- RandomGraphTest.cpp - random programs through every pass -----------===//
//
// Each program is interpreted in f64 before and after every phase. The phases
// must agree within 1e-9 of the largest number of each tensor (of 1, if that is
// larger); gradients agree with central differences of the loss along random
// directions.
//
//===----------------------------------------------------------------------===//

#include "tests/differential/RandomGraph.h"
#include "ir/program/Program.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "tests/differential/RandomMain.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

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
      : seed(seed), program(makeRandomProgram(context, seed, Float64Type::get(&context), options().extra)) {}

  /// Returns the first thing found wrong; empty if there is none.
  std::string run();
  std::string programText() { return text(*program); }
  int chunks = 0;   ///< repeats that the pass `chunk` made
  int products = 0; ///< contractions of fp8 values

private:
  std::string checkPhases(const Trace &parsed, const Trace &optimized);
  std::string checkChunks(ModuleOp optimized, const Trace &expected);
  std::string checkGradients(ModuleOp optimized);
  FailureOr<double> lossAt(const Values &values, StopTape &stops);
  FailureOr<Trace> interpret(ModuleOp module, bool withSteps) {
    InterpreterRunner runner(Rounding::Double);
    if (failed(runner.load(module))) return failure();
    return trace(runner, module, withSteps);
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
    // Under a loss scale the gradients that these programs give away, in front of `tsr.clip`, are scaled.
    if (options().compute == "fp16" && StringRef(name).contains("output gradient")) continue;
    double difference = maxDifference(value, it->second), norm = maxNorm(value);
    if (difference > tolerance * std::max(1.0, norm))
      return name + " differs by " + std::to_string(difference) + ", its largest number is " + std::to_string(norm);
  }
  // A loss scale is state of its own, and so are the largest numbers of tensors.
  for (auto &[name, value] : got) {
    auto isPart = [&](StringRef part) { return StringRef(name).contains(part); };
    if (!expected.count(name) &&
        llvm::none_of(ArrayRef<StringRef>{"loss_scale", "clean_steps", "skipped", ".amax"}, isPart))
      return name + " is new";
  }
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

/// Every contraction counts as large, and every row is a part. What comes out goes on through the other phases.
std::string ProgramCheck::checkChunks(ModuleOp optimized, const Trace &expected) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(optimized->clone());
  PassManager pm(&context);
  pm.addPass(createChunkPass({.leastBytes = 1, .leastRows = 1}));
  pm.addPass(createSimplifyPass());
  if (failed(pm.run(*module)) || failed(verify(*module))) return "fails";
  module->walk([&](RepeatOp repeat) { chunks += repeat.getAxis().getName().ends_with("_chunk"); });
  FailureOr<Trace> after = interpret(*module, true);
  if (failed(after)) return "cannot be interpreted";
  if (std::string wrong = compare(expected, *after); !wrong.empty()) return wrong;
  if (failed(runPipeline(*module, {}))) return "the other phases fail";
  after = interpret(*module, true);
  return failed(after) ? "cannot be interpreted after the other phases" : compare(expected, *after);
}

std::string ProgramCheck::checkPhases(const Trace &parsed, const Trace &optimized) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program->getOperation()->clone());
  setCompute(*module, options().compute);
  for (StringRef phase : phaseNames().drop_front()) {
    if (phaseIndex(phase) > phaseIndex(options().until)) break;
    PipelineOptions pipeline;
    pipeline.compileTo = phase.str();
    if (failed(runPipeline(*module, pipeline))) return (phase + ": fails").str();
    bool withSteps = phaseIndex(phase) >= phaseIndex("optimize");
    FailureOr<Trace> after = interpret(*module, withSteps);
    if (failed(after)) return (phase + ": cannot be interpreted").str();
    if (std::string wrong = compare(withSteps ? optimized : parsed, *after); !wrong.empty())
      return (phase + ": " + wrong).str();
    if (phase != "optimize") continue;
    module->walk([&](ContractOp op) { products += isFp8(op.getLhs().getType().getElementType()); });
    if (std::string wrong = checkChunks(*module, optimized); !wrong.empty())
      return "chunk, as often as possible: " + wrong;
  }
  return "";
}

FailureOr<double> ProgramCheck::lossAt(const Values &values, StopTape &stops) {
  InterpreterRunner runner(Rounding::Double);
  if (failed(runner.load(*program))) return failure();
  stops.next = 0;
  runner.setStops(&stops);
  auto results = runner.run("evaluate", values);
  if (failed(results)) return failure();
  return results->at("output loss").data[0];
}

/// Along a random direction the loss changes by the product of gradient and direction; what is stopped does not change.
/// At a kink the loss need not: three directions are tried, and one must agree.
std::string ProgramCheck::checkGradients(ModuleOp optimized) {
  InterpreterRunner runner(Rounding::Double);
  if (failed(runner.load(optimized))) return "optimize: not loaded";
  auto step = optimized.lookupSymbol<func::FuncOp>("step");
  auto values = runner.run("init", makeInputs(optimized.lookupSymbol<func::FuncOp>("init"), 0));
  if (failed(values)) return "init: cannot be interpreted";
  for (auto &[name, value] : makeInputs(step, 1)) (*values)[name] = value;
  auto results = runner.run("step", *values);
  if (failed(results)) return "optimize: step cannot be interpreted";

  StopTape stops;
  if (failed(lossAt(*values, stops))) return "evaluate: cannot be interpreted";
  stops.isReplayed = true;

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
    FailureOr<double> high = lossAt(above, stops), low = lossAt(below, stops);
    if (failed(high) || failed(low)) return "evaluate: cannot be interpreted";
    double difference = (*high - *low) / (2 * epsilon);
    if (std::abs(slope - difference) <= 1e-5 + 1e-4 * std::abs(difference)) return "";
    wrong = "gradient gives " + std::to_string(slope) + ", differences " + std::to_string(difference);
  }
  return wrong;
}

TEST(RandomGraphs, EveryPhaseKeepsWhatTheProgramComputes) {
  std::map<std::string, std::vector<unsigned>> failures; // Seeds by what is wrong, without the numbers.
  int chunks = 0, products = 0;
  forEachSeed([&](unsigned seed) {
    ProgramCheck check(seed);
    if (options().prints) llvm::outs() << check.programText() << "\n";
    llvm::outs().flush();
    std::string wrong = check.run();
    chunks += check.chunks, products += check.products;
    if (wrong.empty()) return;
    failures[wrong.substr(0, wrong.find(' '))].push_back(seed);
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
  if (options().graphs >= 100 && phaseIndex(options().until) >= phaseIndex("chunk"))
    EXPECT_GT(chunks, options().graphs / 10);
  if (options().graphs >= 100 && options().compute == "fp8") EXPECT_GT(products, options().graphs / 4);
  llvm::outs() << chunks << " contractions in parts\n";
  for (auto &[kind, seeds] : failures)
    llvm::errs() << kind << " " << seeds.size() << " seeds, the first is " << seeds.front() << "\n";
}

//===----------------------------------------------------------------------===//
// The criterion by which targets are judged
//===----------------------------------------------------------------------===//

namespace {
/// The rounding interpreter on a program of its own, whichever it is given; `loss` is off by `error`, relative to the
/// larger of it and 1.
class Substitute : public InterpreterRunner {
public:
  explicit Substitute(ModuleOp own, double error) : InterpreterRunner(Rounding::Types), own(own), error(error) {}
  LogicalResult load(ModuleOp) override { return InterpreterRunner::load(own); }
  FailureOr<Values> run(StringRef entry, const Values &values) override {
    FailureOr<Values> results = InterpreterRunner::run(entry, values);
    if (succeeded(results))
      if (auto loss = results->find("output loss"); loss != results->end())
        loss->second.data[0] += error * std::max(1.0, std::abs(loss->second.data[0]));
    return results;
  }

private:
  ModuleOp own;
  double error;
};
} // namespace

/// It accepts other orders of rounding (of the program before it is fused), and nothing that is off by a thousandth.
TEST(RandomGraphs, TheCriterionAcceptsRoundingAndNothingElse) {
  forEachSeed([](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> unfused = makeRandomProgram(context, seed, Float32Type::get(&context), options().extra);
    PipelineOptions phase;
    phase.compileTo = "optimize";
    ASSERT_TRUE(succeeded(runPipeline(*unfused, phase))) << "seed " << seed;
    OwningOpRef<ModuleOp> fused = cast<ModuleOp>(unfused->getOperation()->clone());
    phase.compileTo = "fuse";
    ASSERT_TRUE(succeeded(runPipeline(*fused, phase))) << "seed " << seed;

    auto accepts = [&](ModuleOp module, ModuleOp judged, double error) {
      Substitute runner(judged, error);
      FailureOr<RunnerError> worst = judge(runner, module, {});
      if (failed(worst)) return ADD_FAILURE() << "seed " << seed << ": does not run", false;
      return worst->isAccepted();
    };
    EXPECT_TRUE(accepts(*fused, *unfused, 0)) << "seed " << seed;
    EXPECT_TRUE(accepts(*unfused, *fused, 0)) << "seed " << seed;
    // To refuse takes all samples, hence time.
    if (seed % 10 == 0) EXPECT_FALSE(accepts(*fused, *fused, 1e-3)) << "seed " << seed;
  });
}
