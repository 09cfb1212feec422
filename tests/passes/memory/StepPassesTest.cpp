//===- StepPassesTest.cpp - each op knows its pass of the step ------------===//
//
// The forward pass is known without marks: it is what the losses and metrics of `step` depend on. After each phase none
// of it is marked, and all else that computes is, except what the forward pass stores for the next step: the largest
// magnitudes of fp8 operands, and states of the model.
//
//===----------------------------------------------------------------------===//

#include "passes/analysis/StepPasses.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/analysis/Views.h"
#include "tests/differential/RandomGraph.h"
#include "tests/passes/memory/PlannedModel.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

namespace {
/// The values of a function that some of them depend on.
class Dependences {
public:
  void add(Value value) {
    if (!values.insert(value).second) return;
    if (auto argument = dyn_cast<BlockArgument>(value)) return addArgument(argument);
    Operation *op = value.getDefiningOp();
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      add(repeat.getYield().getValues()[number]);
      if (number < repeat.getCarried().size()) add(repeat.getCarried()[number]);
    } else if (auto kernel = dyn_cast<KernelOp>(op)) {
      addInside(kernel.getBlock(), kernel.getBlock().getTerminator()->getOperand(number), kernel.getInputs());
    } else {
      for (Value operand : op->getOperands()) add(operand);
    }
  }

  /// Of a stack or a kernel's result: whether what is computed inside is among them.
  bool contains(Value value) const {
    if (values.contains(value)) return true;
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<RepeatOp, KernelOp>(op)) return false;
    Operation *end = op->getRegion(0).front().getTerminator();
    return contains(end->getOperand(cast<OpResult>(value).getResultNumber()));
  }

private:
  void addArgument(BlockArgument argument) {
    auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
    unsigned number = argument.getArgNumber();
    if (!repeat || number == 0) return;
    add(repeat->getOperand(number - 1));
    if (number <= repeat.getCarried().size()) add(repeat.getYield().getValues()[number - 1]);
  }

  void addInside(Block &block, Value value, ValueRange operands) {
    if (auto argument = dyn_cast<BlockArgument>(value)) return add(operands[argument.getArgNumber()]);
    if (!values.insert(value).second) return;
    for (Value operand : value.getDefiningOp()->getOperands()) addInside(block, operand, operands);
  }

  llvm::DenseSet<Value> values;
};
} // namespace

static Dependences forwardPass(func::FuncOp step, ArrayRef<StringRef> roles) {
  Dependences forward;
  Operation *end = step.getBody().front().getTerminator();
  for (unsigned i = 0; i < step.getNumResults(); ++i) {
    auto output = step.getResultAttrOfType<DictionaryAttr>(i, attrs::output);
    StringRef role = output ? output.getAs<StringAttr>("role").getValue() : "";
    if (llvm::is_contained(roles, role)) forward.add(end->getOperand(i));
  }
  return forward;
}

/// Whether an op computes something: no constant, view or part of a kernel.
static bool computes(Operation *op) {
  bool isNone = op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>() || isa<RepeatOp, JoinOp>(op);
  for (Operation *around = op->getParentOp(); around; around = around->getParentOp())
    isNone |= isa<KernelOp, TiledOp, AttentionOp>(around);
  return !isNone && !isStorageView(op);
}

static bool isRead(Value value, StepPass pass) { return readingPasses(value).contains(pass); }

/// Whether an op only copies its operand, to another type or order: it runs where the operand is computed.
static bool isCopy(Operation *op) {
  auto kernel = dyn_cast<KernelOp>(op);
  if (!kernel) return isa<CastOp, ReorderOp>(op);
  return llvm::all_of(kernel.getBlock().without_terminator(),
                      [](Operation &inner) { return isa<CastOp, ReorderOp>(inner); });
}

/// Ops whose pass is wrong, as text. An op of the forward pass may have further results that only the backward pass
/// reads, and copies of its results may be for the backward pass.
static std::string wrongPasses(func::FuncOp step, const Dependences &forward) {
  std::string text;
  llvm::raw_string_ostream out(text);
  step.walk([&](Operation *op) {
    if (!computes(op)) return;
    bool isForward = isCopy(op) && llvm::all_of(op->getOperands(), [&](Value x) { return forward.contains(x); });
    bool isWrong = false;
    for (Value result : op->getResults()) {
      isForward |= forward.contains(result);
      isWrong |= forward.contains(result) && stepPassOf(result) != StepPass::Forward;
    }
    for (Value result : op->getResults())
      isWrong |= !isForward && stepPassOf(result) == StepPass::Forward && isRead(result, StepPass::Backward);
    if (!isWrong) return;
    op->print(out << "\n", OpPrintingFlags().useLocalScope().skipRegions());
  });
  return text;
}

/// `roles`: the outputs of the forward pass.
static void check(StringRef phase, ModuleOp module, const std::string &what, ArrayRef<StringRef> roles) {
  if (phaseIndex(phase) < phaseIndex("differentiate")) return;
  auto step = module.lookupSymbol<func::FuncOp>("step");
  // The parts of a composite's second result are ops of their own until `fuse`.
  if (phase != "layout") EXPECT_EQ(wrongPasses(step, forwardPass(step, roles)), "") << what << " after " << phase.str();
  // All states but those of the model are computed by the optimizer.
  llvm::StringMap<StateOp> states = statesByPath(module);
  Operation *end = step.getBody().front().getTerminator();
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (auto state = states.find(resultState(step, i)); state != states.end()) {
      StateOp entry = state->second;
      Operation *maker = end->getOperand(i).getDefiningOp(); // none of a parameter that does not change
      if (!maker || maker->hasTrait<OpTrait::ConstantLike>()) continue;
      if (entry.isParameter() || entry.getKind() == "moment" || entry.getKind() == "counter")
        EXPECT_EQ(stepPassOf(end->getOperand(i)), StepPass::Optimizer)
            << what << " after " << phase.str() << ": " << entry.getPath().str();
    }
}

/// `plan` compiles the model, and says whether that succeeded.
static void checkModel(const std::string &name, function_ref<bool(MLIRContext &, const PlanOptions &)> plan) {
  for (const char *device : {"x86", "h100"})
    for (const char *compute : {"f32", "bf16", "fp16", "fp8"}) {
      std::string what = name + " in " + compute + " for " + device;
      PlanOptions options{device, compute, [&](StringRef phase, ModuleOp module) {
                            check(phase, module, what, {"loss", "metric", "total"});
                          }};
      MLIRContext context(MLIRContext::Threading::DISABLED);
      EXPECT_TRUE(plan(context, options)) << what;
    }
}

TEST(StepPasses, OfTheExamplesAfterEachPhase) {
  for (const std::string &name : exampleNames())
    checkModel(name, [&](MLIRContext &context, const PlanOptions &options) {
      return static_cast<bool>(planExample(context, name, options));
    });
}

TEST(StepPasses, OfMicroBatchesLayersAndStates) {
  checkModel("layers", [&](MLIRContext &context, const PlanOptions &options) {
    return static_cast<bool>(planText(context, layeredModel, options));
  });
}

TEST(StepPasses, OfRandomPrograms) {
  for (unsigned seed = 0; seed < 60; ++seed)
    for (const char *compute : {"f32", "bf16", "fp16"}) {
      MLIRContext context(MLIRContext::Threading::DISABLED);
      OwningOpRef<ModuleOp> module = makeRandomProgram(context, seed, Float32Type::get(&context));
      if (seed % 2) Target::named("h100")->record(*module);
      setCompute(*module, compute);
      std::string what = "seed " + std::to_string(seed) + " in " + compute;
      PipelineOptions pipeline;
      pipeline.afterPhase = [&](StringRef phase, ModuleOp module) { check(phase, module, what, {"loss"}); };
      EXPECT_TRUE(succeeded(runPipeline(*module, pipeline))) << what;
    }
}
