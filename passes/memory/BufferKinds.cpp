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
    fixed.try_emplace(value, found == states.end() ? otherwise : kindOfState(found->second));
  };
  for (BlockArgument argument : function.getArguments())
    note(argument, argumentState(function, argument.getArgNumber()), BufferKind::Input);
  for (OpOperand &use : function.getBody().front().getTerminator()->getOpOperands())
    note(viewRoot(use.get()), resultState(function, use.getOperandNumber()), BufferKind::Output);
}

BufferKind BufferKinds::of(Value value) {
  value = viewRoot(value);
  if (auto found = fixed.find(value); found != fixed.end()) return found->second;
  StepPass pass = stepPassOf(value);
  if (pass != StepPass::Optimizer && sourceOf(value) == Source::Parameters) return BufferKind::WeightCopy;
  StepPassSet readers = readingPasses(value);
  if (pass == StepPass::Backward && (readers.contains(StepPass::Optimizer) || isContinuedByGradient(value)))
    return BufferKind::Gradient;
  if (pass == StepPass::Forward && readers.contains(StepPass::Backward)) return BufferKind::Saved;
  return BufferKind::Temporary;
}

/// Whether a contraction or a scatter adds to the value, and the result is a gradient: that of a table that is also a
/// weight matrix.
bool BufferKinds::isContinuedByGradient(Value value) {
  for (OpOperand &use : value.getUses()) {
    auto contract = dyn_cast<ContractOp>(use.getOwner());
    if (contract && contract.getInit() == value && of(contract.getResult()) == BufferKind::Gradient) return true;
    auto kernel = dyn_cast<KernelOp>(use.getOwner());
    if (!kernel) continue;
    for (OpOperand &yielded : kernel.getBlock().getTerminator()->getOpOperands()) {
      auto scatter = yielded.get().getDefiningOp<ScatterAddOp>();
      if (scatter && scatter.getInit() == kernel.getBlock().getArgument(use.getOperandNumber()) &&
          of(kernel->getResult(yielded.getOperandNumber())) == BufferKind::Gradient)
        return true;
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

BufferKinds::Source BufferKinds::sourceOf(Value value) {
  // A carried value that depends on itself depends on what else it depends on.
  auto [known, isNew] = sources.try_emplace(value, Source::Constants);
  if (!isNew) return known->second;
  Source source = findSource(value);
  return sources[value] = source;
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
  Source source = sourceOf(repeat->getOperand(number - 1));
  if (number > repeat.getCarried().size()) return source;
  return std::max(source, sourceOf(repeat.getYield().getValues()[number - 1]));
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
