//===- StepPasses.cpp - the pass of a training step of values and readers -===//

#include "passes/analysis/StepPasses.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tessera;

StepPass StepPassSet::first() const {
  if (contains(StepPass::Forward)) return StepPass::Forward;
  return contains(StepPass::Backward) ? StepPass::Backward : StepPass::Optimizer;
}

bool tessera::hasSeveralStepPasses(KernelOp kernel) {
  return llvm::any_of(kernel.getBlock(), [](Operation &op) { return op.hasAttr(attrs::pass); });
}

/// The op that computes a value, in the body of a repeat if it is a repeat's result; null for an argument.
static Operation *makerOf(Value value) {
  auto repeat = value.getDefiningOp<RepeatOp>();
  while (repeat) {
    value = repeat.getYield().getValues()[cast<OpResult>(value).getResultNumber()];
    repeat = value.getDefiningOp<RepeatOp>();
  }
  return value.getDefiningOp();
}

static StepPass passOfArgument(BlockArgument argument) {
  auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  if (!repeat || number == 0) return StepPass::Forward;
  StepPass pass = stepPassOf(repeat->getOperand(number - 1));
  if (number > repeat.getCarried().size()) return pass;
  Operation *next = makerOf(repeat.getYield().getValues()[number - 1]);
  return next ? std::max(pass, stepPass(next)) : pass;
}

StepPass tessera::stepPassOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return passOfArgument(argument);
  if (auto repeat = value.getDefiningOp<RepeatOp>()) {
    Value yielded = repeat.getYield().getValues()[cast<OpResult>(value).getResultNumber()];
    return stepPassOf(yielded);
  }
  auto kernel = value.getDefiningOp<KernelOp>();
  if (!kernel || !hasSeveralStepPasses(kernel)) return stepPass(value.getDefiningOp());
  Value inside = kernel.getBlock().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return stepPass(inside.getDefiningOp());
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

namespace {
class Readers {
public:
  StepPassSet of(Value value) {
    if (!visited.insert(value).second) return found;
    for (OpOperand &use : value.getUses()) addUse(use);
    return found;
  }

private:
  void addUse(OpOperand &use);
  void addYield(RepeatOp repeat, unsigned number);
  void addKernel(KernelOp kernel, Value operand);

  llvm::DenseSet<Value> visited; ///< for look-up only
  StepPassSet found;
};
} // namespace

/// The passes of the results that depend on an operand.
void Readers::addKernel(KernelOp kernel, Value operand) {
  if (!hasSeveralStepPasses(kernel)) return found.insert(stepPass(kernel));
  llvm::DenseSet<Value> dependent;
  for (auto [input, argument] : llvm::zip(kernel.getInputs(), kernel.getBlock().getArguments()))
    if (input == operand) dependent.insert(argument);
  for (Operation &op : kernel.getBlock())
    if (llvm::any_of(op.getOperands(), [&](Value read) { return dependent.contains(read); }))
      dependent.insert(op.result_begin(), op.result_end());
  for (Value yielded : kernel.getBlock().getTerminator()->getOperands())
    if (dependent.contains(yielded)) found.insert(stepPass(yielded.getDefiningOp()));
}

void Readers::addYield(RepeatOp repeat, unsigned number) {
  of(repeat->getResult(number));
  if (number < repeat.getCarried().size()) of(repeat.getCarriedArgs()[number]);
}

void Readers::addUse(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (auto kernel = dyn_cast<KernelOp>(user)) return addKernel(kernel, use.get());
  if (auto repeat = dyn_cast<RepeatOp>(user)) {
    of(repeat.getBlock().getArgument(1 + number));
  } else if (auto repeat = dyn_cast<RepeatOp>(user->getParentOp()); repeat && isa<YieldOp>(user)) {
    addYield(repeat, number);
  } else if (isa<JoinOp>(user) || isStorageView(user)) {
    of(user->getResult(0));
  } else if (!isa<func::ReturnOp>(user)) {
    found.insert(stepPass(user));
  }
}

StepPassSet tessera::readingPasses(Value value) { return Readers().of(value); }

//===----------------------------------------------------------------------===//
// Marks that follow from the dataflow
//===----------------------------------------------------------------------===//

/// 1. `around`: the pass of the repeat.
static void inheritFromOperands(Block &block, StepPass around = StepPass::Forward) {
  for (Operation &op : block) {
    StepPass pass = std::max(stepPass(&op), around);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      inheritFromOperands(repeat.getBlock(), pass);
      continue;
    }
    for (Value operand : op.getOperands()) pass = std::max(pass, stepPassOf(operand));
    if (pass > stepPass(&op)) setStepPass(&op, pass);
  }
}

/// The passes that read a result of the op.
static StepPassSet readersOf(Operation *op) {
  StepPassSet readers;
  for (Value result : op->getResults()) readers.insert(readingPasses(result));
  return readers;
}

/// 2.
static void inheritFromReaders(func::FuncOp function) {
  SmallVector<Operation *> starts;
  function.walk([&](Operation *op) {
    bool isStart = op->getNumOperands() == 0 && op->getNumResults() > 0 && !op->hasTrait<OpTrait::ConstantLike>();
    if (isStart && !isInsideKernel(op) && stepPass(op) == StepPass::Forward) starts.push_back(op);
  });
  for (Operation *op : starts)
    if (StepPassSet readers = readersOf(op); !readers.empty()) setStepPass(op, readers.first());
}

/// Whether an argument of the function is a counter, a scale or a moment.
static bool isOptimizerState(func::FuncOp function, unsigned argument, const llvm::StringMap<StateOp> &states) {
  auto found = states.find(argumentState(function, argument));
  if (found == states.end()) return false;
  StateOp state = found->second;
  return !state.isParameter() && state.getKind() != "state";
}

/// 3. Backwards, so that the readers are known.
static void inheritFromCounters(func::FuncOp function, const llvm::StringMap<StateOp> &states) {
  llvm::DenseSet<Value> dependent; // on counters and constants alone
  for (BlockArgument argument : function.getArguments())
    if (isOptimizerState(function, argument.getArgNumber(), states)) dependent.insert(argument);
  SmallVector<Operation *> candidates;
  for (Operation &op : function.getBody().front()) {
    auto isKnown = [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return dependent.contains(operand) || (maker && maker->hasTrait<OpTrait::ConstantLike>());
    };
    bool isCandidate = op.getNumOperands() > 0 && op.getNumResults() > 0 && !isa<RepeatOp>(op) &&
                       stepPass(&op) == StepPass::Forward && llvm::all_of(op.getOperands(), isKnown);
    if (!isCandidate) continue;
    dependent.insert(op.result_begin(), op.result_end());
    candidates.push_back(&op);
  }
  for (Operation *op : llvm::reverse(candidates)) {
    StepPassSet readers = readersOf(op);
    setStepPass(op, readers.empty() ? StepPass::Optimizer : readers.first());
  }
}

void tessera::inheritStepPasses(ModuleOp module) {
  llvm::StringMap<StateOp> states = statesByPath(module);
  for (StringRef name : {"step", "shadow"}) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function) continue;
    inheritFromOperands(function.getBody().front());
    inheritFromReaders(function);
    inheritFromCounters(function, states);
  }
}
