//===- RandomShardingTest.cpp - random programs on random meshes ----------===//
//
// Each program gets a mesh of up to 8 ranks, some of its axes are laid along the mesh's, and some of its states have
// shardings of their own; or all of this is found for devices of random speeds, or what is not said of it. In wide
// form, and on ranks that run in lockstep, it must compute what it computed before, in f64 within 1e-9, draws included.
// CPU code in f32 on all ranks is judged like that of whole programs; for every second one exchanges start as for a
// device on which they run beside kernels.
//
//===----------------------------------------------------------------------===//

#include "ir/dialect/GraphBuilder.h"
#include "ir/program/Program.h"
#include "ir/program/ProgramMesh.h"
#include "ir/program/ShardSettings.h"
#include "ir/program/Target.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/sharding/Sharding.h"
#include "tests/differential/RandomGraph.h"
#include "tests/differential/RandomMain.h"
#include "tests/differential/RanksCpuRunner.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

static constexpr double tolerance = 1e-9;

namespace {
/// Who decides what is divided.
enum class Decision { Said, Found, Both };

class ShardingCheck {
public:
  ShardingCheck(unsigned seed, bool isF64, Decision decision = Decision::Said)
      : decision(decision), choices(seed ^ 0x5a4d) {
    Type element = isF64 ? Type(Float64Type::get(&context)) : Type(Float32Type::get(&context));
    program = makeRandomProgram(context, seed, element, options().extra);
    if (!isF64) setCompute(*program, options().compute);
  }

  /// Both return the first thing found wrong; empty if there is none.
  std::string checkPhases();
  std::string checkCpuCode();
  bool hasCollective = false; ///< beside those on scalars
  bool isPadded = false;      ///< an axis that is divided has a size that its parts do not divide
  bool hasBlocks = false;     ///< an input that is divided in several blocks
  bool carriesParts = false;  ///< a repeat that accumulates what is summed over ranks after it
  bool isRefused = false;     ///< what was said contradicts the program
  int early = 0, late = 0;    ///< exchanges that run beside kernels

private:
  LogicalResult prepare();
  void choose();
  void chooseDevices();
  void chooseBoth();
  void chooseSpeeds();
  void count();
  void countOverlaps();
  void setReductions();
  std::string compare(const Trace &expected, const Trace &got);

  MLIRContext context;
  Decision decision;
  Choices choices;
  LocalizePassOptions exchanges;
  OwningOpRef<ModuleOp> program, wide;
};
} // namespace

/// The largest size of each axis of a program.
static llvm::StringMap<int64_t> largestSizes(ModuleOp module) {
  llvm::StringMap<int64_t> sizes;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<NamedTensorType>(type))
        for (AxisAttr axis : tensor.getAxes())
          sizes[axis.getName()] = std::max(sizes.lookup(axis.getName()), axis.getSize());
  });
  return sizes;
}

/// A mesh, what is laid along it, and states with shardings of their own. What divides nothing has one rank.
void ShardingCheck::choose() {
  static constexpr std::pair<int, int> meshes[] = {{2, 1}, {3, 1}, {4, 1}, {2, 2}, {3, 2}, {2, 4}, {8, 1}, {5, 1}};
  auto [data, tensor] = meshes[choices.integer(0, std::size(meshes) - 1)];
  SmallVector<AxisAttr> axes{axis(&context, "data", data)};
  if (tensor > 1) axes.push_back(axis(&context, "tensor", tensor));
  Builder b(&context);
  llvm::StringMap<int64_t> sizes = largestSizes(*program);
  llvm::StringSet<> used, repeated;
  program->walk([&](RepeatOp repeat) { repeated.insert(repeat.getAxis().getName()); });
  SmallVector<NamedAttribute> rules;
  for (StringRef name : names((*program)->getAttrOfType<ArrayAttr>(attrs::axes))) {
    if (name == "micro" || !choices.oneIn(name == "batch" ? 2 : 4)) continue;
    AxisAttr along = axes[choices.integer(0, axes.size() - 1)];
    if (sizes.lookup(name) < along.getSize()) continue;
    rules.push_back(b.getNamedAttr(name, b.getStringAttr(along.getName())));
    used.insert(along.getName());
  }
  (*program)->setAttr(attrs::shard, b.getDictionaryAttr(rules));
  for (StateOp state : stateTable(*program)) {
    ArrayRef<AxisAttr> own = state.getTensorType().getAxes();
    if (own.empty() || !choices.oneIn(3)) continue;
    AxisAttr divided = own[choices.integer(0, own.size() - 1)];
    bool isPossible = state.isParameter() && divided.getSize() >= data && !repeated.contains(divided.getName());
    if (decision == Decision::Both && !isPossible) continue; // what the search refuses
    state->setAttr(attrs::sharding, b.getDictionaryAttr(b.getNamedAttr(divided.getName(), b.getStringAttr("data"))));
    used.insert("data");
  }
  for (AxisAttr &each : axes)
    if (!used.contains(each.getName())) each = axis(&context, each.getName(), 1);
  ProgramMesh::set(*program, axes);
  if (choices.oneIn(2)) exchanges.leastDivided = 1; // else all values are gathered whole: they are small
}

/// Devices whose links cost next to nothing beside their computing and their memory, now the one and now the other, so
/// that what is found divides these small programs in many ways; a device may hold a part of a program only.
void ShardingCheck::chooseSpeeds() {
  auto amount = [&](int from, int to) { return std::pow(10, choices.integer(from, to)); };
  Target target = Target::ofKind(Target::Kind::Cpu);
  DeviceFigures &figures = target.figures;
  figures.cpu.thread.f32 = amount(6, 10), figures.cpu.l2Bandwidth = amount(6, 10);
  figures.copyBandwidth = figures.cpu.threadCopyBandwidth = amount(6, 10);
  if (choices.oneIn(2)) figures.memoryBytes = static_cast<int64_t>(amount(2, 5));
  figures.linkLatencies["memory"] = 1e-6 * amount(-3, 3);
  target.record(*program);
  if (choices.oneIn(2)) exchanges.leastDivided = 1;
}

void ShardingCheck::chooseDevices() {
  chooseSpeeds();
  static constexpr int64_t counts[] = {2, 3, 4, 4, 5, 6, 8};
  Builder b(&context);
  (*program)->setAttr(attrs::devices, b.getI64IntegerAttr(counts[choices.integer(0, std::size(counts) - 1)]));
}

/// What `choose` says, sometimes without the mesh and with ZeRO; all else is found. What contradicts the program is
/// refused, and left out then.
void ShardingCheck::chooseBoth() {
  choose();
  chooseSpeeds();
  Builder b(&context);
  ModuleOp module = *program;
  ProgramMesh mesh = ProgramMesh::of(module);
  if (mesh.ranks() == 1) return;
  module->setAttr(attrs::devices, b.getI64IntegerAttr(mesh.ranks()));
  bool hasUnused = llvm::any_of(mesh.getAxes(), [](AxisAttr axis) { return axis.getSize() == 1; });
  if (!hasUnused && choices.oneIn(2)) module->removeAttr(attrs::mesh);
  auto source = b.getDictionaryAttr(b.getNamedAttr("batch", b.getArrayAttr({b.getStringAttr("batch")})));
  module->setAttr(attrs::data, b.getArrayAttr({source}));
  bool isBatchLaid = module->getAttrOfType<DictionaryAttr>(attrs::shard).contains("batch");
  if (choices.oneIn(2)) module->setAttr(attrs::zero, b.getI64IntegerAttr(choices.integer(0, isBatchLaid ? 3 : 0)));
  ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> tried = cast<ModuleOp>(module->clone());
  PassManager pm(&context);
  pm.addPass(createShardPass());
  isRefused = failed(pm.run(*tried)) && (*tried)->hasAttr(attrs::problem);
  if (!isRefused) return;
  module->removeAttr(attrs::shard), module->removeAttr(attrs::zero);
  for (StateOp state : stateTable(module)) state->removeAttr(attrs::sharding);
}

/// Whether an input is divided in several blocks.
static bool isInBlocks(func::FuncOp function, unsigned argument) {
  auto tag = function.getArgAttrOfType<DictionaryAttr>(argument, attrs::input);
  auto divided = tag ? tag.getAs<DictionaryAttr>("divided") : DictionaryAttr();
  return divided && llvm::any_of(divided, [](NamedAttribute part) {
           return cast<DictionaryAttr>(part.getValue()).contains("blocks");
         });
}

void ShardingCheck::count() {
  ProgramMesh mesh = ProgramMesh::of(*wide);
  wide->walk([&](Operation *op) {
    if (auto reduce = dyn_cast<ReduceOp>(op))
      hasCollective |= reduce.getResult().getType().getRank() > 0 && mesh.has(names(reduce.getOver()).front());
    if (auto merge = dyn_cast<MergeOp>(op)) hasCollective |= mesh.has(names(merge.getAxes()).front());
    if (auto repeat = dyn_cast<RepeatOp>(op))
      for (Value carried : repeat.getCarriedResults())
        for (Operation *user : carried.getUsers())
          if (auto sum = dyn_cast<ReduceOp>(user)) carriesParts |= mesh.has(names(sum.getOver()).front());
    if (auto pad = dyn_cast<PadOp>(op)) {
      auto split = pad->hasOneUse() ? dyn_cast<SplitOp>(*pad->user_begin()) : SplitOp();
      isPadded |= split && mesh.has(names(split.getInto()).front());
    }
  });
  for (func::FuncOp function : entryFunctions(*wide))
    for (BlockArgument argument : function.getArguments()) hasBlocks |= isInBlocks(function, argument.getArgNumber());
}

std::string ShardingCheck::compare(const Trace &expected, const Trace &got) {
  for (auto &[name, value] : expected) {
    double difference = maxDifference(value, got.at(name)), norm = maxNorm(value);
    if (difference > tolerance * std::max(1.0, norm))
      return name + " differs by " + std::to_string(difference) + ", its largest number is " + std::to_string(norm);
  }
  return "";
}

/// `program` after `optimize`, with a mesh; `wide` is a copy.
LogicalResult ShardingCheck::prepare() {
  PipelineOptions phase;
  phase.compileTo = "optimize";
  if (failed(runPipeline(*program, phase))) return failure();
  switch (decision) {
  case Decision::Said:
    choose();
    break;
  case Decision::Found:
    chooseDevices();
    break;
  case Decision::Both:
    chooseBoth();
    break;
  }
  wide = cast<ModuleOp>(program->getOperation()->clone());
  return success();
}

/// The phases from `localize` on. `overlaps`: exchanges run beside kernels.
static LogicalResult runLaterPhases(ModuleOp module, bool overlaps = false) {
  module->setAttr(attrs::phase, StringAttr::get(module.getContext(), "localize"));
  PipelineOptions before;
  before.compileTo = "rematerialize";
  if (failed(runPipeline(module, before))) return failure();
  PassManager pm(module.getContext());
  pm.addPass(createSchedulePass({overlaps})), pm.addPass(createVerifyPhasePass({"schedule"}));
  return pm.run(module);
}

void ShardingCheck::countOverlaps() {
  wide->walk([&](StartOp start) {
    early += start->hasAttr(attrs::early);
    late += start->hasAttr(attrs::late);
  });
}

void ShardingCheck::setReductions() {
  ShardSettings settings = ShardSettings::of(*wide);
  settings.addsInLibrary = true;
  settings.record(*wide);
}

std::string ShardingCheck::checkPhases() {
  if (failed(prepare())) return "optimize: fails";
  InterpreterRunner runner(Rounding::Double);
  if (failed(runner.load(*program))) return "is not loaded";
  FailureOr<Trace> expected = trace(runner, *program, true);
  if (failed(expected)) return "cannot be interpreted";

  WideRunner wideRunner(*program);
  RanksRunner ranksRunner(*program);
  struct Stage {
    StringRef name;
    SmallVector<std::function<std::unique_ptr<Pass>()>> passes;
    ShardedRunner &runner;
  };
  const Stage stages[] = {
      {"wide form", {[] { return createShardPass(); }, [] { return createPartitionPass(); }}, wideRunner},
      {"wide form, simplified", {[] { return createSimplifyPass(); }}, wideRunner},
      {"on ranks", {[&] { return createLocalizePass(exchanges); }}, ranksRunner},
      {"on ranks, simplified", {[] { return createSimplifyPass(); }}, ranksRunner},
      {"on ranks, after all phases", {}, ranksRunner},
  };
  for (const Stage &stage : stages) {
    // Code for CPUs has no sums of a library, but the interpreter has.
    if (stage.name == "on ranks" && choices.oneIn(2)) setReductions();
    PassManager pm(&context);
    for (const auto &create : stage.passes) pm.addPass(create());
    if (failed(stage.passes.empty() ? runLaterPhases(*wide) : pm.run(*wide)) || failed(verify(*wide)))
      return (stage.name + ": fails").str();
    if (stage.name == "wide form") count();
    if (failed(stage.runner.load(*wide))) return (stage.name + ": is not loaded").str();
    FailureOr<Trace> got = trace(stage.runner, *program, true);
    if (!stage.runner.getProblem().empty()) return (stage.name + ": " + stage.runner.getProblem()).str();
    if (failed(got)) return (stage.name + ": cannot be interpreted").str();
    if (std::string wrong = compare(*expected, *got); !wrong.empty()) return (stage.name + ": " + wrong).str();
  }
  return "";
}

namespace {
/// A runner of the divided program that is loaded in place of the whole one.
class DividedRunner : public Runner {
public:
  DividedRunner(Runner &runner, ModuleOp divided) : runner(runner), divided(divided) {}
  StringRef getName() const override { return runner.getName(); }
  LogicalResult load(ModuleOp) override { return runner.load(divided); }
  FailureOr<Values> run(StringRef entry, const Values &values) override { return runner.run(entry, values); }

private:
  Runner &runner;
  ModuleOp divided;
};
} // namespace

std::string ShardingCheck::checkCpuCode() {
  if (failed(prepare())) return "optimize: fails";
  PassManager pm(&context);
  pm.addPass(createShardPass()), pm.addPass(createPartitionPass()), pm.addPass(createLocalizePass(exchanges));
  pm.addPass(createSimplifyPass());
  if (failed(pm.run(*wide)) || failed(runLaterPhases(*wide, choices.oneIn(2)))) return "the phases fail";
  countOverlaps();
  RanksCpuRunner cpu(*program);
  DividedRunner runner(cpu, *wide);
  FailureOr<RunnerError> error = judge(runner, *program, {});
  if (!cpu.getProblem().empty()) return cpu.getProblem();
  if (failed(error)) return "does not run";
  if (error->isAccepted()) return "";
  return llvm::formatv("{0} is off by {1:e2}, rounding {2:e2}, norm {3:e2}", error->tensor, error->error,
                       error->rounding, error->norm);
}

TEST(RandomSharding, PhasesComputeTheSame) {
  int collectives = 0, padded = 0, blocks = 0, parts = 0;
  forEachSeed([&](unsigned seed) {
    ShardingCheck check(seed, /*isF64=*/true);
    std::string wrong = check.checkPhases();
    collectives += check.hasCollective, padded += check.isPadded;
    blocks += check.hasBlocks, parts += check.carriesParts;
    if (!wrong.empty()) ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
  llvm::outs() << collectives << " programs have collectives on tensors, " << padded << " padded axes, " << blocks
               << " inputs in blocks, " << parts << " repeats that carry parts\n";
  if (options().extra == Extra::MicroBatches) {
    EXPECT_GE(blocks, options().graphs / 20);
    EXPECT_GE(parts, options().graphs / 10);
  }
  if (options().graphs < 100) return;
  EXPECT_GE(collectives, options().graphs / 2);
  EXPECT_GE(padded, options().graphs / 5);
}

TEST(RandomSharding, WhatIsFoundComputesTheSame) {
  int collectives = 0, padded = 0;
  forEachSeed([&](unsigned seed) {
    ShardingCheck check(seed, /*isF64=*/true, Decision::Found);
    std::string wrong = check.checkPhases();
    collectives += check.hasCollective, padded += check.isPadded;
    if (!wrong.empty()) ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
  llvm::outs() << collectives << " programs have collectives on tensors, " << padded << " padded axes\n";
  if (options().graphs < 50) return;
  EXPECT_GE(collectives, options().graphs / 2);
  EXPECT_GE(padded, options().graphs / 2);
}

TEST(RandomSharding, WhatIsFoundBesideWhatIsSaidComputesTheSame) {
  int collectives = 0, refused = 0;
  forEachSeed([&](unsigned seed) {
    ShardingCheck check(seed, /*isF64=*/true, Decision::Both);
    std::string wrong = check.checkPhases();
    collectives += check.hasCollective, refused += check.isRefused;
    if (!wrong.empty()) ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
  llvm::outs() << collectives << " programs have collectives on tensors, " << refused << " are refused\n";
  if (options().graphs < 50) return;
  EXPECT_GE(collectives, options().graphs / 2);
  EXPECT_LE(refused, options().graphs / 2);
}

TEST(RandomSharding, CpuCodeComputesTheSame) {
  int early = 0, late = 0; // programs that have such exchanges
  forEachSeed([&](unsigned seed) {
    ShardingCheck check(seed, /*isF64=*/false);
    std::string wrong = check.checkCpuCode();
    early += check.early > 0, late += check.late > 0;
    if (!wrong.empty()) ADD_FAILURE() << "seed " << seed << ": " << wrong;
  });
  llvm::outs() << early << " programs have exchanges that start early, " << late << " some that end late\n";
  if (options().graphs >= 50) EXPECT_GE(early, 1);
}
