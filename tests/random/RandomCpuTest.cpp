//===- RandomCpuTest.cpp - random programs as CPU code --------------------===//
//
//   random-cpu-tests [--graphs=300] [--first-seed=0] [--threads=2] [--print]
//
// Each program, in f32, goes through the whole pipeline, is compiled and run;
// results are compared with the interpreter in f64 on the program before layout.
// The error allowed is 4 times what f32 itself causes, tensor by tensor in
// max-norm: the larger of the error of the interpreter that rounds every
// result to its type, and of the change when parameters and data move by half
// a unit in the last place (a sum in another order is an error of that size).
//
//===----------------------------------------------------------------------===//

#include "ir/Program.h"
#include "passes/Pipeline.h"
#include "tests/random/CpuTarget.h"
#include "tests/random/RandomGraph.h"
#include "llvm/Support/Signals.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static int graphs = 300, firstSeed = 0, threads = 2, currentSeed = 0;
static bool printsPrograms = false;

/// A float's relative spacing.
static constexpr double ulp = 0x1p-23;
static constexpr double factor = 4;
/// Below this many units in the last place of a tensor's largest number an error is no error: even one operation
/// may round so.
static constexpr double floorUlps = 4;
static constexpr int perturbations = 3;

namespace {
/// The interpreter in f64 on values moved by up to half a unit in the last place.
class PerturbedTarget : public InterpreterTarget {
public:
  explicit PerturbedTarget(unsigned seed) : InterpreterTarget(Rounding::Double), choices(seed) {}
  FailureOr<Values> run(StringRef entry, const Values &values) override {
    Values moved = values;
    for (auto &[name, value] : moved)
      if (isa<FloatType>(value.type.getElementType()))
        for (double &number : value.data) number *= 1 + ulp / 2 * choices.real(-1, 1);
    return InterpreterTarget::run(entry, moved);
  }

private:
  Choices choices;
};

/// One program and what was found wrong with it.
class CpuCheck {
public:
  explicit CpuCheck(unsigned seed) : seed(seed), program(makeRandomProgram(context, seed, Float32Type::get(&context))) {}
  std::string run();
  ModuleOp getProgram() { return *program; }

private:
  std::string compare(const Trace &exact, const std::vector<Trace> &noisy, const Trace &got);
  FailureOr<Trace> traceOn(Target &target, ModuleOp module) {
    if (failed(target.load(module))) return failure();
    return trace(target, module, true);
  }

  MLIRContext context;
  unsigned seed;
  OwningOpRef<ModuleOp> program;
};
} // namespace

std::string CpuCheck::compare(const Trace &exact, const std::vector<Trace> &noisy, const Trace &got) {
  for (auto &[name, value] : exact) {
    double noise = 0;
    for (const Trace &other : noisy) noise = std::max(noise, maxDifference(value, other.at(name)));
    auto it = got.find(name);
    if (it == got.end()) return name + " is missing";
    double allowed = factor * noise + floorUlps * ulp * maxNorm(value), error = maxDifference(value, it->second);
    if (!(error <= allowed))
      return name + " is off by " + std::to_string(error / (ulp * std::max(1e-30, maxNorm(value)))) + " ulp of its norm, allowed " +
             std::to_string(allowed / (ulp * std::max(1e-30, maxNorm(value))));
  }
  return "";
}

std::string CpuCheck::run() {
  PipelineOptions toOptimize;
  toOptimize.compileTo = "optimize";
  if (failed(runPipeline(*program, toOptimize))) return "optimize: fails";
  OwningOpRef<ModuleOp> scheduled = cast<ModuleOp>(program->getOperation()->clone());
  if (failed(runPipeline(*scheduled, {}))) return "schedule: fails";

  InterpreterTarget exact(Rounding::Double), rounded(Rounding::Types);
  FailureOr<Trace> expected = traceOn(exact, *program);
  if (failed(expected)) return "optimize: cannot be interpreted";
  std::vector<Trace> noisy;
  auto addNoisy = [&](Target &target) {
    FailureOr<Trace> result = traceOn(target, *program);
    if (succeeded(result)) noisy.push_back(std::move(*result));
  };
  addNoisy(rounded);
  for (int i = 0; i < perturbations; ++i) {
    PerturbedTarget target(1000 * seed + i);
    addNoisy(target);
  }
  CpuTarget cpu(threads);
  FailureOr<Trace> got = traceOn(cpu, *scheduled);
  if (failed(got)) return "cpu: does not run";
  std::string wrong = compare(*expected, noisy, *got);
  return wrong.empty() ? "" : "cpu: " + wrong;
}

TEST(RandomCpu, CodeComputesWhatTheProgramSays) {
  for (currentSeed = firstSeed; currentSeed < firstSeed + graphs; ++currentSeed) {
    CpuCheck check(currentSeed);
    std::string wrong = check.run();
    if (wrong.empty()) continue;
    ADD_FAILURE() << "seed " << currentSeed << ": " << wrong;
    if (printsPrograms) check.getProgram()->print(llvm::errs());
  }
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    if (argument.consume_front("--graphs="))
      (void)argument.getAsInteger(10, graphs);
    else if (argument.consume_front("--first-seed="))
      (void)argument.getAsInteger(10, firstSeed);
    else if (argument.consume_front("--threads="))
      (void)argument.getAsInteger(10, threads);
    else if (argument == "--print")
      printsPrograms = true;
    else
      return llvm::errs() << "unknown argument " << argument << "\n", 2;
  }
  // A crash names its seed.
  llvm::sys::AddSignalHandler([](void *) { llvm::errs() << "seed " << currentSeed << "\n"; }, nullptr);
  return RUN_ALL_TESTS();
}
