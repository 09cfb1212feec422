//===- BufferKinds.cpp - what the values in the arena are for -------------===//

#include "passes/memory/BufferKinds.h"
#include "ir/program/Program.h"
#include "passes/analysis/StepPasses.h"
#include "passes/analysis/Views.h"

using namespace mlir;
using namespace tessera;

StringRef tessera::stringifyBufferKind(BufferKind kind) {
  static constexpr StringLiteral names[] = {"parameter",   "optimizer", "model state", "input",    "output",
                                            "weight copy", "gradient",  "saved",       "temporary"};
  static_assert(std::size(names) == bufferKindCount);
  return names[static_cast<unsigned>(kind)];
}

BufferKind tessera::kindOfState(StateOp state) {
  if (state.isParameter()) return BufferKind::Parameter;
  return state.getKind() == "state" ? BufferKind::ModelState : BufferKind::Optimizer;
}

BufferKinds::BufferKinds(func::FuncOp function)
    : function(function), states(statesByPath(function->getParentOfType<ModuleOp>())) {
  auto note = [&](Value value, StringRef state, BufferKind otherwise) {
    auto found = states.find(state);
    known.try_emplace(value, found == states.end() ? otherwise : kindOfState(found->second));
  };
  for (BlockArgument argument : function.getArguments())
    note(argument, argumentState(function, argument.getArgNumber()), BufferKind::Input);
  for (OpOperand &use : function.getBody().front().getTerminator()->getOpOperands())
    note(viewRoot(use.get()), resultState(function, use.getOperandNumber()), BufferKind::Output);
}

BufferKind BufferKinds::of(Value value) {
  value = viewRoot(value);
  if (auto found = known.find(value); found != known.end()) return found->second;
  BufferKind kind = find(value);
  return known[value] = kind;
}

BufferKind BufferKinds::find(Value value) {
  StepPass pass = stepPassOf(value);
  if (pass != StepPass::Optimizer && sourceOf(value) == Source::Parameters) return BufferKind::WeightCopy;
  StepPassSet readers = readingPasses(value);
  if (pass == StepPass::Backward && (readers.contains(StepPass::Optimizer) || isTermOfGradient(value)))
    return BufferKind::Gradient;
  if (pass == StepPass::Forward && readers.contains(StepPass::Backward)) return BufferKind::Saved;
  return BufferKind::Temporary;
}

//===----------------------------------------------------------------------===//
// Sums of gradients
//===----------------------------------------------------------------------===//

/// Whether `sum` is computed from `term`, or from parts of it, by additions and copies alone, or by a scatter that adds
/// to it.
static bool isTermOf(Value term, Value sum) {
  if (term == sum) return true;
  Operation *op = sum.getDefiningOp();
  if (auto gather = dyn_cast_or_null<GatherOp>(op)) return gather.getX() == term;
  if (auto scatter = dyn_cast_or_null<ScatterAddOp>(op)) return scatter.getInit() == term;
  bool isSum = isa_and_nonnull<AddOp, CastOp, ReorderOp>(op);
  return isSum && llvm::any_of(op->getOperands(), [&](Value operand) { return isTermOf(term, operand); });
}

bool BufferKinds::isTermOfGradient(KernelOp kernel, Value operand) {
  Operation *end = kernel.getBlock().getTerminator();
  for (auto [input, argument] : llvm::zip(kernel.getInputs(), kernel.getBlock().getArguments()))
    for (OpResult result : kernel->getResults()) {
      bool isTerm = input == operand && isTermOf(argument, end->getOperand(result.getResultNumber())) &&
                    tensorType(operand).getNumElements() >= tensorType(result).getNumElements();
      if (isTerm && of(result) == BufferKind::Gradient) return true;
    }
  return false;
}

/// Sums that micro-batches accumulate, from their zeros on, and what is added to them; stacks of gradients of leaves;
/// the parts of the gradient of a table that is also a weight matrix.
bool BufferKinds::isTermOfGradient(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (auto repeat = argument ? dyn_cast<RepeatOp>(argument.getOwner()->getParentOp()) : RepeatOp()) {
    unsigned number = argument.getArgNumber();
    bool isCarried = number > 0 && number <= repeat.getCarried().size();
    if (isCarried && of(repeat->getResult(number - 1)) == BufferKind::Gradient) return true;
  }
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto kernel = dyn_cast<KernelOp>(user)) {
      if (isTermOfGradient(kernel, value)) return true;
      continue;
    }
    Value sum;
    if (auto repeat = dyn_cast<RepeatOp>(user); repeat && number < repeat.getCarried().size())
      sum = repeat->getResult(number);
    else if (auto around = dyn_cast<RepeatOp>(user->getParentOp()); around && isa<YieldOp>(user))
      sum = around->getResult(number);
    else if (auto contract = dyn_cast<ContractOp>(user); contract && contract.getInit() == value)
      sum = contract.getResult();
    if (sum && of(sum) == BufferKind::Gradient) return true;
    if (isStorageView(user) && isTermOfGradient(user->getResult(0))) return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

BufferKinds::Source BufferKinds::sourceOf(Value value) {
  if (auto found = sources.find(value); found != sources.end()) return found->second;
  for (auto [argument, source] : open)
    if (argument == value) return source;
  Source source = findSource(value);
  return sources[value] = source;
}

/// A carried value depends on its start, and on what it becomes in an iteration, which may depend on itself. What was
/// found with too little assumed of it is forgotten.
BufferKinds::Source BufferKinds::sourceOfCarried(BlockArgument argument, Value start, Value next) {
  Source source = sourceOf(start);
  for (;;) {
    open.emplace_back(argument, source);
    Source found = std::max(source, sourceOf(next));
    open.pop_back();
    if (found == source) return source;
    source = found;
    sources.clear();
  }
}

BufferKinds::Source BufferKinds::sourceOfArgument(BlockArgument argument) {
  if (argument.getOwner()->getParentOp() == function.getOperation()) {
    auto found = states.find(argumentState(function, argument.getArgNumber()));
    if (found == states.end()) return Source::Data;
    BufferKind kind = kindOfState(found->second);
    if (kind == BufferKind::Parameter) return Source::Parameters;
    return kind == BufferKind::ModelState ? Source::Data : Source::Constants;
  }
  auto repeat = dyn_cast<RepeatOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  if (!repeat || number == 0) return Source::Constants;
  Value operand = repeat->getOperand(number - 1);
  if (number > repeat.getCarried().size()) return sourceOf(operand);
  return sourceOfCarried(argument, operand, repeat.getYield().getValues()[number - 1]);
}

/// Of the operands that the result depends on.
BufferKinds::Source BufferKinds::sourceOfKernelResult(KernelOp kernel, unsigned result) {
  Source source = Source::Constants;
  SmallVector<Value> work{kernel.getBlock().getTerminator()->getOperand(result)};
  llvm::DenseSet<Value> visited;
  while (!work.empty()) {
    Value inside = work.pop_back_val();
    if (!visited.insert(inside).second) continue;
    if (auto argument = dyn_cast<BlockArgument>(inside))
      source = std::max(source, sourceOf(kernel.getInputs()[argument.getArgNumber()]));
    else
      llvm::append_range(work, inside.getDefiningOp()->getOperands());
  }
  return source;
}

BufferKinds::Source BufferKinds::findSource(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return sourceOfArgument(argument);
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto repeat = dyn_cast<RepeatOp>(op)) {
    Source source = sourceOf(repeat.getYield().getValues()[number]);
    bool isCarried = number < repeat.getCarried().size();
    return isCarried ? std::max(source, sourceOf(repeat.getCarried()[number])) : source;
  }
  if (auto kernel = dyn_cast<KernelOp>(op)) return sourceOfKernelResult(kernel, number);
  Source source = Source::Constants;
  for (Value operand : op->getOperands()) source = std::max(source, sourceOf(operand));
  return source;
}
