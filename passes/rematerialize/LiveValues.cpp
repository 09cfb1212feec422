//===- LiveValues.cpp - the values of a block that are live at a moment ---===//

#include "passes/rematerialize/LiveValues.h"
#include "ir/program/Program.h"
#include "passes/analysis/Views.h"
#include "passes/memory/InPlace.h"

using namespace mlir;
using namespace tessera;

int64_t tessera::elementBytes(Value value) {
  NamedTensorType type = tensorType(value);
  return type.getNumElements() * type.getElementBytes();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

namespace {
/// What may be written to the place of one state entry before its next value.
class StatePlace {
public:
  StatePlace(Value old, llvm::DenseSet<Value> &found) : old(old), found(found) {}

  void add(Value value) {
    Value root = viewRoot(value);
    if (!found.insert(root).second) return;
    Operation *op = root.getDefiningOp();
    if (auto join = dyn_cast_or_null<JoinOp>(op)) llvm::for_each(join.getParts(), [&](Value part) { add(part); });
    if (auto contract = dyn_cast_or_null<ContractOp>(op); contract && contract.getInit()) add(contract.getInit());
    if (auto repeat = dyn_cast_or_null<RepeatOp>(op)) addOf(repeat, cast<OpResult>(root).getResultNumber());
    if (auto kernel = dyn_cast_or_null<KernelOp>(op))
      for (Value operand : kernel.getInputs())
        if (operand.getType() == root.getType() && mayPrecede(viewRoot(operand))) add(operand);
  }

private:
  void addOf(RepeatOp repeat, unsigned result) {
    add(repeat.getYield().getValues()[result]);
    if (result < repeat.getCarried().size()) {
      found.insert(repeat.getCarriedArgs()[result]);
      return add(repeat.getCarried()[result]);
    }
    for (Value operand : repeat.getSliced())
      if (operand.getType() == repeat->getResult(result).getType()) add(operand);
  }

  /// Whether a value may be in the place of the old state: if nothing reads that after the value is made.
  bool mayPrecede(Value root) const {
    Operation *op = root.getDefiningOp();
    return op && (!old || !isReadAfter(old, op));
  }
  static bool isReadAfter(Value value, Operation *op) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isStorageView(user)) return isReadAfter(user->getResult(0), op);
      return user->getBlock() != op->getBlock() || op->isBeforeInBlock(user);
    });
  }

  Value old;
  llvm::DenseSet<Value> &found;
};
} // namespace

llvm::DenseSet<Value> tessera::valuesOfState(func::FuncOp step) {
  llvm::DenseSet<Value> found;
  llvm::StringMap<Value> old;
  for (BlockArgument argument : step.getArguments())
    if (StringRef path = argumentState(step, argument.getArgNumber()); !path.empty())
      old[path] = argument, found.insert(argument);
  for (OpOperand &use : step.getBody().front().getTerminator()->getOpOperands()) {
    StringRef path = resultState(step, use.getOperandNumber());
    if (!path.empty()) StatePlace(old.lookup(path), found).add(use.get());
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

bool LiveValue::Read::isCarried() const {
  auto repeat = dyn_cast<RepeatOp>(use->getOwner());
  return repeat && use->getOperandNumber() < repeat.getCarried().size();
}

bool LiveValue::isLiveBefore(int position) const {
  return definition < position && llvm::any_of(reads, [&](const Read &read) { return read.position >= position; });
}

bool LiveValue::isLiveDuring(int position) const {
  bool isCarried = llvm::any_of(reads, [&](const Read &read) { return read.position == position && read.isCarried(); });
  return !isCarried && isLiveBefore(position);
}

LiveValues::LiveValues(Block &block, const llvm::DenseSet<Value> &excluded) {
  for (Operation &op : block) positions[&op] = static_cast<int>(positions.size());
  llvm::DenseSet<Value> stacked; // their slots count for the repeat
  auto repeat = dyn_cast<RepeatOp>(block.getParentOp());
  if (repeat) {
    for (Value value : repeat.getYield().getValues().drop_front(repeat.getCarried().size()))
      stacked.insert(viewRoot(value));
    for (Value argument : repeat.getCarriedArgs())
      if (!stacked.contains(argument) && !excluded.contains(argument)) add(argument, -1);
  } else {
    for (Value argument : block.getArguments())
      if (!excluded.contains(argument)) add(argument, -1);
  }
  for (Operation &op : block) {
    if (isStorageView(&op) || isa<JoinOp>(op)) continue;
    for (Value result : op.getResults())
      if (!stacked.contains(result) && !excluded.contains(result)) add(result, positions.lookup(&op));
  }
}

void LiveValues::add(Value root, int definition) {
  LiveValue value{root, elementBytes(root), definition, {}};
  addReads(root, value);
  values.push_back(std::move(value));
}

void LiveValues::addReads(Value value, LiveValue &of) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isStorageView(user) || isa<JoinOp>(user))
      addReads(user->getResult(0), of);
    else
      of.reads.push_back({positions.lookup(user), &use});
  }
}

int64_t tessera::freshResultBytes(Operation *op, const LiveValues &live) {
  if (isa<RepeatOp>(op)) return 0;
  int64_t bytes = 0;
  for (const LiveValue &value : live.values) {
    bool mayTakePlace = llvm::any_of(op->getOperands(),
                                     [&](Value operand) { return mayTakeStorage(op, viewRoot(operand), value.root); });
    if (value.root.getDefiningOp() == op && !value.reads.empty() && !mayTakePlace) bytes += value.bytes;
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

int64_t tessera::filledSlotBytes(RepeatOp repeat, const llvm::DenseSet<Value> &excluded) {
  unsigned carried = repeat.getCarried().size();
  int64_t bytes = 0;
  llvm::DenseSet<Value> counted;
  for (OpResult stack : repeat->getResults().drop_front(carried)) {
    // It may take the place of a stack, slot by slot.
    bool mayTakeSlots = llvm::any_of(repeat.getSliced(), [&](Value operand) {
      return operand.getType() == stack.getType() && !excluded.contains(viewRoot(operand));
    });
    Value slot = repeat.getYield().getValues()[stack.getResultNumber()];
    if (!mayTakeSlots && !excluded.contains(stack) && counted.insert(viewRoot(slot)).second)
      bytes += elementBytes(slot);
  }
  return bytes;
}

int64_t tessera::mostBytesInside(RepeatOp repeat, const llvm::DenseSet<Value> &excluded) {
  LiveValues live(repeat.getBlock(), excluded);
  int64_t most = 0;
  for (Operation &op : repeat.getBlock()) {
    int position = live.positionOf(&op);
    auto inner = dyn_cast<RepeatOp>(op);
    int64_t before = 0, during = inner ? mostBytesInside(inner, excluded) : 0;
    for (const LiveValue &value : live.values) {
      if (value.isLiveBefore(position)) before += value.bytes;
      if (value.isLiveDuring(position)) during += value.bytes;
    }
    before += freshResultBytes(&op, live);
    most = std::max({most, before, during});
  }
  return most + filledSlotBytes(repeat, excluded);
}
