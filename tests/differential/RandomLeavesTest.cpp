//===- RandomLeavesTest.cpp - random programs with leaves on meshes -------===//
//
// The batch of each program is cut into 2, 4 or 8 leaves. On every number of ranks along `data` that divides them, the
// steps must compute the same bits as on one: in wide form, on ranks that run in lockstep before and after sums in
// trees are additions, after all phases, and as CPU code. In half of the programs a second mesh axis divides something
// else. Against the program without leaves, f64 results must agree within 1e-9.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "ir/program/ProgramMesh.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "tests/differential/RandomGraph.h"
#include "tests/differential/RandomMain.h"
#include "tests/differential/RanksCpuRunner.h"
#include "llvm/ADT/StringSet.h"
#include "gtest/gtest.h"
#include <functional>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr double tolerance = 1e-9;

namespace {
class LeavesCheck {
public:
  LeavesCheck(unsigned seed, bool isF64) : choices(seed ^ 0x1eaf) {
    Type element = isF64 ? Type(Float64Type::get(&context)) : Type(Float32Type::get(&context));
    program = makeRandomProgram(context, seed, element, Extra::Leaves);
    if (!isF64) setCompute(*program, options().compute);
  }

  /// Both return the first thing found wrong; empty if there is none.
  std::string checkPhases();
  std::string checkCpuCode();
  bool hasDraws = false, hasSecondAxis = false;

private:
  using Stages = std::map<std::string, Trace>;
  LogicalResult prepare();
  OwningOpRef<ModuleOp> onRanks(int64_t ranks);
  std::string traceStages(int64_t ranks, Stages &traces);
  std::string traceCpuCode(int64_t ranks, Trace &steps);
  std::string forEachCount(llvm::function_ref<std::string(int64_t)> check);

  MLIRContext context;
  Choices choices;
  LocalizePassOptions exchanges;
  OwningOpRef<ModuleOp> program; ///< after `optimize`
  int64_t leaves = 0;            ///< 0: the steps read no data, or parameters have rows
  std::string second;            ///< an axis that a second mesh axis of two ranks divides; empty: none
};
} // namespace

/// The results of the steps.
static Trace stepsOf(const Trace &all) {
  Trace steps;
  for (auto &[name, value] : all)
    if (StringRef(name).starts_with("step")) steps[name] = value;
  return steps;
}

/// Where two runs differ by more than is allowed; empty: nowhere.
static std::string compare(const Trace &expected, const Trace &got, double allowed) {
  for (auto &[name, value] : expected) {
    double difference = maxDifference(value, got.at(name));
    if (difference > allowed * std::max(1.0, maxNorm(value))) return name + " differs by " + std::to_string(difference);
  }
  return "";
}

LogicalResult LeavesCheck::prepare() {
  PipelineOptions phase;
  phase.compileTo = "optimize";
  if (failed(runPipeline(*program, phase))) return failure();
  auto step = program->lookupSymbol<func::FuncOp>("step");
  llvm::StringMap<int64_t> sizes;
  step.walk([&](Operation *op) {
    hasDraws |= isa<RandomOp>(op);
    if (auto repeat = dyn_cast<RepeatOp>(op); repeat && repeat.getAxis().getName() == "micro")
      leaves = repeat.getSliced().empty() ? 0 : repeat.getAxis().getSize();
    for (Type type : op->getResultTypes())
      for (AxisAttr axis : cast<NamedTensorType>(type).getAxes())
        sizes[axis.getName()] = std::max(sizes.lookup(axis.getName()), axis.getSize());
  });
  if (choices.oneIn(2)) exchanges.leastDivided = 1; // else all values are gathered whole: they are small
  bool wantsSecond = choices.oneIn(2);
  for (StringRef name : {"hid", "seq", "head", "feat", "vocab"})
    if (wantsSecond && second.empty() && sizes.lookup(name) >= 2 && choices.oneIn(2)) second = name;
  hasSecondAxis = !second.empty();
  // Parameters have no rows, in the language. Ranks would divide them.
  for (StateOp state : stateTable(*program))
    if (state.getTensorType().hasAxis("batch")) leaves = 0;
  return success();
}

/// The program with leaves, on a number of ranks along `data`; on one rank without a mesh, if nothing else needs one.
OwningOpRef<ModuleOp> LeavesCheck::onRanks(int64_t ranks) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(program->getOperation()->clone());
  Builder b(&context);
  (*module)->setAttr(attrs::leaves, b.getI64IntegerAttr(leaves));
  SmallVector<AxisAttr> mesh;
  SmallVector<NamedAttribute> rules;
  auto lay = [&](StringRef name, StringRef along, int64_t size) {
    mesh.push_back(axis(&context, along, size));
    rules.push_back(b.getNamedAttr(name, b.getStringAttr(along)));
  };
  if (ranks > 1) lay("batch", "data", ranks);
  if (!second.empty()) lay(second, "tensor", 2);
  if (mesh.empty()) return module;
  ProgramMesh::set(*module, mesh);
  (*module)->setAttr(attrs::shard, b.getDictionaryAttr(rules));
  return module;
}

/// Traces of the steps in each form of the program.
std::string LeavesCheck::traceStages(int64_t ranks, Stages &traces) {
  OwningOpRef<ModuleOp> module = onRanks(ranks);
  WideRunner wide(*program);
  RanksRunner onRanks(*program);
  struct Stage {
    std::string name;
    std::vector<std::function<std::unique_ptr<Pass>()>> passes;
    ShardedRunner &runner;
  };
  const Stage stages[] = {
      {"wide form",
       {[] { return createLeavesPass(); }, [] { return createShardPass(); }, [] { return createPartitionPass(); },
        [] { return createSimplifyPass(); }},
       wide},
      {"on ranks", {[&] { return createLocalizePass(exchanges); }}, onRanks},
      {"with additions", {[] { return createTreeSumsPass(); }, [] { return createSimplifyPass(); }}, onRanks},
      {"after all phases", {}, onRanks},
  };
  for (const Stage &stage : stages) {
    std::string where = "on " + std::to_string(ranks) + " ranks, " + stage.name + ": ";
    PassManager pm(&context);
    for (const auto &create : stage.passes) pm.addPass(create());
    if (stage.passes.empty()) (*module)->setAttr(attrs::phase, StringAttr::get(&context, "localize"));
    bool hasFailed = stage.passes.empty() ? failed(runPipeline(*module, {})) : failed(pm.run(*module));
    if (hasFailed || failed(verify(*module))) return where + "fails";
    if (failed(stage.runner.load(*module))) return where + "is not loaded";
    FailureOr<Trace> got = trace(stage.runner, *program, true);
    if (!stage.runner.getProblem().empty()) return where + stage.runner.getProblem();
    if (failed(got)) return where + "cannot be interpreted";
    traces[stage.name] = stepsOf(*got);
  }
  return "";
}

/// Numbers of ranks along `data`; the first thing that a check finds wrong.
std::string LeavesCheck::forEachCount(llvm::function_ref<std::string(int64_t)> check) {
  for (int64_t ranks = 1; ranks <= leaves; ranks *= 2)
    if (std::string wrong = check(ranks); !wrong.empty()) return wrong;
  return "";
}

std::string LeavesCheck::checkPhases() {
  if (failed(prepare())) return "optimize: fails";
  if (leaves == 0) return "";
  InterpreterRunner runner(Rounding::Double);
  if (failed(runner.load(*program))) return "is not loaded";
  FailureOr<Trace> whole = trace(runner, *program, true);
  if (failed(whole)) return "cannot be interpreted";
  Stages onOne;
  return forEachCount([&](int64_t ranks) -> std::string {
    Stages traces;
    if (std::string wrong = traceStages(ranks, traces); !wrong.empty()) return wrong;
    if (ranks == 1) onOne = traces;
    for (auto &[stage, steps] : traces) {
      std::string where = "on " + std::to_string(ranks) + " ranks, " + stage + ": ";
      if (std::string wrong = compare(onOne[stage], steps, 0); !wrong.empty()) return where + wrong + " from one rank";
      if (std::string wrong = compare(stepsOf(*whole), steps, tolerance); !wrong.empty()) return where + wrong;
    }
    return "";
  });
}

std::string LeavesCheck::traceCpuCode(int64_t ranks, Trace &steps) {
  OwningOpRef<ModuleOp> module = onRanks(ranks);
  PassManager pm(&context);
  pm.addPass(createLeavesPass()), pm.addPass(createShardPass()), pm.addPass(createPartitionPass());
  pm.addPass(createSimplifyPass()), pm.addPass(createLocalizePass(exchanges)), pm.addPass(createTreeSumsPass());
  pm.addPass(createSimplifyPass());
  if (failed(pm.run(*module))) return "the phases fail";
  (*module)->setAttr(attrs::phase, StringAttr::get(&context, "localize"));
  if (failed(runPipeline(*module, {}))) return "the later phases fail";
  RanksCpuRunner cpu(*program);
  if (failed(cpu.load(*module))) return "is not loaded";
  FailureOr<Trace> got = trace(cpu, *program, true);
  if (!cpu.getProblem().empty()) return cpu.getProblem();
  if (failed(got)) return "does not run";
  steps = stepsOf(*got);
  return "";
}

std::string LeavesCheck::checkCpuCode() {
  if (failed(prepare())) return "optimize: fails";
  if (leaves == 0) return "";
  Trace onOne;
  return forEachCount([&](int64_t ranks) -> std::string {
    Trace steps;
    std::string wrong = traceCpuCode(ranks, steps);
    if (ranks == 1) onOne = steps;
    if (wrong.empty()) wrong = compare(onOne, steps, 0);
    return wrong.empty() ? "" : "on " + std::to_string(ranks) + " ranks: " + wrong;
  });
}

TEST(RandomLeaves, EveryNumberOfRanksComputesTheSameBits) {
  int draws = 0, seconds = 0;
  forEachSeed([&](unsigned seed) {
    LeavesCheck check(seed, /*isF64=*/true);
    if (std::string wrong = check.checkPhases(); !wrong.empty()) ADD_FAILURE() << "seed " << seed << ": " << wrong;
    draws += check.hasDraws, seconds += check.hasSecondAxis;
  });
  llvm::outs() << draws << " programs draw numbers, " << seconds << " have a second mesh axis\n";
  EXPECT_GE(draws, options().graphs / 10);
  EXPECT_GE(seconds, options().graphs / 10);
}

TEST(RandomLeaves, CpuCodeComputesTheSameBits) {
  forEachSeed([&](unsigned seed) {
    if (std::string wrong = LeavesCheck(seed, /*isF64=*/false).checkCpuCode(); !wrong.empty())
      ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
}
