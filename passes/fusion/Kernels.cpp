//===- Kernels.cpp - creates the kernels ----------------------------------===//

#include "passes/fusion/Kernels.h"
#include "ir/program/Program.h"
#include "mlir/IR/IRMapping.h"
#include "passes/layout/OrderChoice.h"

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Replaces characters that names of functions and files must not contain.
static std::string sanitized(StringRef text) {
  std::string result;
  for (char c : text) result += isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ? c : '_';
  return result;
}

/// The name of the last op that has one, since it is closest to the result; else the kind of the main op.
static std::string nameOf(const Group &group) {
  auto kindOf = [](Operation *op) {
    std::string kind = op->getName().stripDialect().str();
    if (auto reduce = dyn_cast<ReduceOp>(op)) kind = stringifyReduceKind(reduce.getKind()).str();
    return kind;
  };
  for (Operation *op : llvm::reverse(group.ops))
    if (StringRef name = userName(op); !name.empty()) return sanitized(name);
  std::string kind = kindOf(group.ops.back());
  for (Operation *op : group.ops)
    if (isa<ReduceOp, GatherOp, ScatterAddOp>(op)) kind = kindOf(op);
  return kind;
}

void KernelNames::keep(KernelOp kernel) {
  if (taken.try_emplace(kernel.getName(), 1).second)
    nameOfBody.try_emplace(fingerprint(kernel), kernel.getName().str());
}

void KernelNames::assign(KernelOp kernel, StringRef wanted) {
  std::string &name = nameOfBody[fingerprint(kernel)];
  if (name.empty()) {
    unsigned count = ++taken[wanted];
    name = wanted.str();
    while (count > 1) {
      name = (wanted + "_" + Twine(count)).str();
      if (taken.try_emplace(name, 1).second) break;
      count = ++taken[wanted];
    }
  }
  kernel.setName(name);
}

//===----------------------------------------------------------------------===//
// Vector axis
//===----------------------------------------------------------------------===//

/// The axis along which most bytes are contiguous; the innermost of several.
static StringRef chooseVectorAxis(KernelOp kernel, const Group &group) {
  StringRef best;
  int64_t bestBytes = -1;
  for (AxisAttr axis : group.space) {
    if (axis.getSize() == 1) continue;
    int64_t bytes = 0;
    auto count = [&](Value value) {
      NamedTensorType type = tensorType(value);
      if (!type.isScalar() && type.getAxes().back().getName() == axis.getName()) bytes += type.getNumBytes();
    };
    llvm::for_each(kernel.getInputs(), count);
    llvm::for_each(kernel.getResults(), count);
    if (bytes >= bestBytes) best = axis.getName(), bestBytes = bytes;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {

/// Builds the region of one kernel.
class KernelBuilder {
public:
  KernelBuilder(const Group &group, OpBuilder &builder, IRMapping &outside)
      : group(group), builder(builder), outside(outside) {}
  KernelOp build();

private:
  Value regionValue(OpOperand &use);
  Operation *clone(Operation *op);
  bool isMember(Operation *op) const { return op && llvm::is_contained(group.ops, op); }
  bool isStored(Value value) const;

  const Group &group;
  OpBuilder &builder;
  IRMapping &outside; ///< values of the old block → values of the new one
  Block *body = nullptr;
  IRMapping mapping; ///< values of the old block → values of the region
  SmallVector<Value> inputs;
};

} // namespace

/// The value of an operand in the region: computed there, or an argument.
Value KernelBuilder::regionValue(OpOperand &use) {
  Value value = use.get();
  Operation *producer = value.getDefiningOp();
  bool inMemory = readsFromMemory(use);
  if (!inMemory && isMember(producer)) return mapping.lookup(value);
  if (!inMemory && producer && isRecomputed(producer)) {
    if (Value known = mapping.lookupOrNull(value)) return known;
    return clone(producer)->getResult(0);
  }
  // There is one argument for each value in memory. An op may read one value both from memory and from the region.
  auto it = llvm::find(inputs, value);
  if (it != inputs.end()) return body->getArgument(it - inputs.begin());
  inputs.push_back(value);
  return body->addArgument(value.getType(), value.getLoc());
}

Operation *KernelBuilder::clone(Operation *op) {
  SmallVector<Value> operands =
      llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) { return regionValue(use); });
  Operation *copy = op->clone();
  copy->setOperands(operands);
  copy->removeAttr(attrs::name);
  builder.insert(copy);
  for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults())) mapping.map(from, to);
  return copy;
}

/// Whether a value of the group is read outside it, or at other positions than the current point.
bool KernelBuilder::isStored(Value value) const {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (readsFromMemory(use)) return true;
    if (isMember(user)) return false;
    return !isRecomputed(user) || isStored(user->getResult(0));
  });
}

KernelOp KernelBuilder::build() {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = group.ops.back()->getLoc();
  Region region;
  body = &region.emplaceBlock();
  OpBuilder::InsertPoint before = builder.saveInsertionPoint();
  builder.setInsertionPointToEnd(body);
  for (Operation *op : group.ops) clone(op);
  SmallVector<Value> stored, yielded;
  for (Operation *op : group.ops)
    for (Value result : op->getResults())
      if (isStored(result)) stored.push_back(result), yielded.push_back(mapping.lookup(result));
  YieldOp::create(builder, loc, yielded);

  builder.restoreInsertionPoint(before);
  SmallVector<StringRef> parallel;
  for (AxisAttr axis : group.space)
    if (!llvm::is_contained(group.serial, axis.getName())) parallel.push_back(axis.getName());
  SmallVector<Value> operands = llvm::map_to_vector(inputs, [&](Value v) { return outside.lookupOrDefault(v); });
  auto kernel =
      KernelOp::create(builder, loc, TypeRange(ValueRange(yielded)), "", operands, builder.getStrArrayAttr(parallel),
                       builder.getStrArrayAttr(group.serial), StringAttr());
  kernel.getBody().takeBody(region);
  if (StringRef vector = chooseVectorAxis(kernel, group); !vector.empty()) kernel.setVector(vector);
  for (auto [from, to] : llvm::zip(stored, kernel.getResults())) outside.map(from, to);
  return kernel;
}

/// The kernel belongs to the pass of its results, of several the last. The ops of its region carry the mark only where
/// there are several.
static void setPassOf(KernelOp kernel) {
  StepPass last = StepPass::Forward;
  bool isSame = true;
  ValueRange yielded = kernel.getBlock().getTerminator()->getOperands();
  for (Value value : yielded) {
    StepPass pass = stepPass(value.getDefiningOp());
    isSame &= pass == stepPass(yielded.front().getDefiningOp());
    last = std::max(last, pass);
  }
  setStepPass(kernel, last);
  if (isSame)
    for (Operation &op : kernel.getBlock()) op.removeAttr(attrs::pass);
}

SmallVector<KernelOp> tessera::applyFusion(Block &block, const FusionPlan &plan, KernelNames &names) {
  Operation *terminator = block.getTerminator();
  SmallVector<Operation *> old = llvm::map_to_vector(block.without_terminator(), [](Operation &op) { return &op; });
  OpBuilder builder(terminator);
  IRMapping outside;
  SmallVector<KernelOp> kernels;
  auto remap = [&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) use.set(outside.lookupOrDefault(use.get()));
  };
  SmallVector<Operation *> others; // ops outside kernels
  for (const Group &group : plan.groups) {
    if (!group.isKernel) {
      group.ops.front()->moveBefore(terminator);
      others.push_back(group.ops.front());
      continue;
    }
    KernelOp kernel = KernelBuilder(group, builder, outside).build();
    names.assign(kernel, nameOf(group));
    for (Operation *op : llvm::reverse(group.ops)) copyUserName(op, kernel);
    setPassOf(kernel);
    kernels.push_back(kernel);
  }
  for (Operation *op : others) remap(op);
  remap(terminator);
  for (Operation *op : llvm::reverse(old))
    if (!llvm::is_contained(others, op)) op->erase();
  return kernels;
}
