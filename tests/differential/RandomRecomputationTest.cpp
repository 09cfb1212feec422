//===- RandomRecomputationTest.cpp - random programs that recompute -------===//
//
// Each program is compiled without recomputation, with what the fixed modes recompute, with as little memory as there
// can be, and for an arena of random size. All of them must compute the same bits.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/Attributes.h"
#include "ir/dialect/Tsr.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "tests/differential/CpuRunner.h"
#include "tests/differential/CudaRunner.h"
#include "tests/differential/RandomGraph.h"
#include "tests/differential/RandomMain.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {

using MakeRunner = llvm::function_ref<std::unique_ptr<Runner>()>;

/// One program after the phase `tile`, and what it computes without recomputation.
class RecomputationCheck {
public:
  RecomputationCheck(ModuleOp tiled, MakeRunner makeRunner) : tiled(tiled), makeRunner(makeRunner) {}

  /// Returns the first thing found wrong; empty if there is none.
  std::string run(Choices &choices);
  int recomputing = 0; ///< programs that recompute a value
  int fewerBytes = 0;  ///< those whose arena is smaller

private:
  struct Compiled {
    OwningOpRef<ModuleOp> module;
    Trace trace;
  };
  FailureOr<Compiled> compile(const MemorySettings &settings);
  std::string compare(const MemorySettings &settings);

  ModuleOp tiled;
  MakeRunner makeRunner;
  Compiled expected;
};

} // namespace

static int64_t arenaBytes(ModuleOp module) { return module->getAttrOfType<IntegerAttr>(attrs::arena).getInt(); }

/// The ops of a program, but for their names.
static int countOps(ModuleOp module) {
  int count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

FailureOr<RecomputationCheck::Compiled> RecomputationCheck::compile(const MemorySettings &settings) {
  Compiled compiled{cast<ModuleOp>(tiled->clone()), {}};
  settings.record(*compiled.module);
  std::unique_ptr<Runner> runner = makeRunner();
  if (failed(runPipeline(*compiled.module, {})) || failed(runner->load(*compiled.module))) return failure();
  FailureOr<Trace> got = trace(*runner, *compiled.module, /*withSteps=*/true);
  if (failed(got)) return failure();
  compiled.trace = std::move(*got);
  return compiled;
}

std::string RecomputationCheck::compare(const MemorySettings &settings) {
  FailureOr<Compiled> compiled = compile(settings);
  if (failed(compiled)) return "does not compile or run";
  recomputing += countOps(*compiled->module) != countOps(*expected.module);
  fewerBytes += arenaBytes(*compiled->module) < arenaBytes(*expected.module);
  std::vector<std::string> wrong; // what is wrong after a step is wrong in what follows
  for (const auto &[name, value] : expected.trace) {
    auto found = compiled->trace.find(name);
    if (found == compiled->trace.end()) return name + " is missing";
    if (maxDifference(value, found->second) != 0) wrong.push_back(name);
  }
  llvm::stable_sort(wrong, [](StringRef a, StringRef b) { return a.starts_with("step") && !b.starts_with("step"); });
  return wrong.empty() ? "" : llvm::join(wrong, ", ") + " differ";
}

std::string RecomputationCheck::run(Choices &choices) {
  MemorySettings settings;
  settings.mode = RematMode::None;
  FailureOr<Compiled> without = compile(settings);
  if (failed(without)) return "none: does not compile or run";
  expected = std::move(*without);
  for (RematMode mode : {RematMode::Layer, RematMode::Sqrt}) {
    settings.mode = mode;
    if (std::string wrong = compare(settings); !wrong.empty())
      return (rematModes()[static_cast<size_t>(mode)] + ": " + wrong).str();
  }
  settings.mode = RematMode::Auto;
  int64_t some = static_cast<int64_t>(choices.real(0.5, 1) * static_cast<double>(arenaBytes(*expected.module)));
  for (int64_t arena : {int64_t(1), some}) {
    settings.arena = arena;
    if (std::string wrong = compare(settings); !wrong.empty())
      return "an arena of " + std::to_string(arena) + " bytes: " + wrong;
  }
  return "";
}

/// Checks the program of each seed for a target.
static void checkAll(const Target *target, MakeRunner makeRunner) {
  int recomputing = 0, fewerBytes = 0;
  forEachSeed([&](unsigned seed) {
    MLIRContext context;
    OwningOpRef<ModuleOp> program = makeRandomProgram(context, seed, Float32Type::get(&context), options().extra);
    setCompute(*program, options().compute);
    if (target) target->record(*program);
    PipelineOptions toTile;
    toTile.compileTo = "tile";
    if (failed(runPipeline(*program, toTile))) {
      ADD_FAILURE() << "seed " << seed << ": tile fails";
      return;
    }
    Choices choices(seed ^ 0xa4ea);
    RecomputationCheck check(*program, makeRunner);
    std::string wrong = check.run(choices);
    recomputing += check.recomputing, fewerBytes += check.fewerBytes;
    if (wrong.empty()) return;
    ADD_FAILURE() << "seed " << seed << ": " << wrong;
    if (options().prints) program->print(llvm::errs());
  });
  llvm::outs() << recomputing << " programs recompute values, " << fewerBytes << " in a smaller arena\n";
  // Four of each seed.
  EXPECT_GT(recomputing, options().graphs);
  EXPECT_GT(fewerBytes, options().graphs / 4);
}

TEST(RandomRecomputation, CpuCodeComputesTheSameBits) {
  checkAll(nullptr, [] { return std::make_unique<CpuRunner>(options().threads); });
}

TEST(RandomRecomputation, CudaCodeComputesTheSameBits) {
  Target target = *Target::named("h100");
  checkAll(&target, [] { return std::make_unique<CudaRunner>(); });
}
