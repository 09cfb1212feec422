//===- Edits.cpp - changes of repeats and kernels -------------------------===//

#include "passes/rematerialize/Edits.h"
#include "ir/dialect/Attributes.h"
#include "ir/dialect/GraphBuilder.h"
#include "passes/kernel/ThreadMapping.h"
#include "passes/simplify/Patterns.h"

using namespace mlir;
using namespace tessera;

static NamedTensorType withoutOutermost(NamedTensorType type) { return type.withAxes(type.getAxes().drop_front()); }

static NamedTensorType stackType(RepeatOp repeat, Value value) {
  NamedTensorType type = tensorType(value);
  SmallVector<AxisAttr> axes{repeat.getAxis()};
  llvm::append_range(axes, type.getAxes());
  return type.withAxes(axes);
}

Value tessera::sliceArgument(RepeatOp repeat, Value operand) {
  unsigned before = repeat.getCarried().size(), count = repeat.getSliced().size();
  for (unsigned i = 0; i < count; ++i)
    if (repeat.getSliced()[i] == operand) return repeat.getSlicedArgs()[i];
  repeat.getSlicedMutable().append(operand);
  return repeat.getBlock().insertArgument(1 + before + count, withoutOutermost(tensorType(operand)), operand.getLoc());
}

Value tessera::invariantArgument(RepeatOp repeat, Value operand) {
  for (auto [value, argument] : llvm::zip(repeat.getInvariants(), repeat.getInvariantArgs()))
    if (value == operand) return argument;
  repeat.getInvariantsMutable().append(operand);
  return repeat.getBlock().addArgument(operand.getType(), operand.getLoc());
}

RepeatOp tessera::withStacks(RepeatOp repeat, ArrayRef<Value> values) {
  OpBuilder b(repeat);
  SmallVector<Type> types(repeat.getResultTypes());
  for (Value value : values) types.push_back(stackType(repeat, value));
  auto more =
      RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverseAttr(), repeat.getCarried(),
                       repeat.getSliced(), repeat.getInvariants(), repeat.getArgPlacesAttr());
  more->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  more.getBody().takeBody(repeat.getBody());
  more.getYield().getValuesMutable().append(values);
  for (auto [from, to] : llvm::zip(repeat.getResults(), more.getResults())) from.replaceAllUsesWith(to);
  repeat.erase();
  return more;
}

RepeatOp tessera::withoutUnused(RepeatOp repeat) { return pruneRepeat(repeat); }

static std::optional<Target> targetOf(KernelOp kernel) {
  FailureOr<Target> target = Target::read(kernel->getParentOfType<ModuleOp>());
  return succeeded(target) ? std::optional(*target) : std::nullopt;
}

KernelOp tessera::withoutUnused(KernelOp kernel) {
  SmallVector<unsigned> kept;
  for (OpResult result : kernel.getResults())
    if (!result.use_empty()) kept.push_back(result.getResultNumber());
  if (kept.size() == kernel->getNumResults()) return kernel;
  if (kept.empty()) {
    kernel.erase();
    return {};
  }
  std::optional<Target> target = targetOf(kernel);
  std::optional<SumOrder> sums = target ? orderOfSums(kernel, *target) : std::nullopt;
  Block &block = kernel.getBlock();
  SmallVector<Value> values;
  SmallVector<Type> types;
  for (unsigned i : kept) {
    values.push_back(block.getTerminator()->getOperand(i));
    types.push_back(kernel->getResult(i).getType());
  }
  cast<YieldOp>(block.getTerminator()).getValuesMutable().assign(values);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>()) op.erase();
  SmallVector<Value> inputs;
  for (unsigned i = kernel->getNumOperands(); i-- > 0;) {
    if (block.getArgument(i).use_empty())
      block.eraseArgument(i);
    else
      inputs.push_back(kernel->getOperand(i));
  }
  std::reverse(inputs.begin(), inputs.end());
  OpBuilder b(kernel);
  auto less = KernelOp::create(b, kernel.getLoc(), types, kernel.getName(), inputs, kernel.getParallel(),
                               kernel.getSerial(), kernel.getVectorAttr());
  less->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  less.getBody().takeBody(kernel.getBody());
  for (auto [to, from] : llvm::zip(less.getResults(), kept)) kernel->getResult(from).replaceAllUsesWith(to);
  kernel.erase();
  if (sums) keepOrderOfSums(less, *sums, *target);
  return less;
}

void tessera::trimKernels(Block &block) {
  auto kernels = llvm::to_vector(block.getOps<KernelOp>());
  for (KernelOp kernel : llvm::reverse(kernels)) withoutUnused(kernel);
}

void tessera::markRecomputed(Operation *clone) {
  setStepPass(clone, StepPass::Backward);
  StringRef name = userName(clone);
  if (!name.empty() && !name.starts_with(recomputeOf))
    clone->setAttr(attrs::name, StringAttr::get(clone->getContext(), recomputeOf + name));
}

int64_t tessera::nextFusionGroup(Operation *function) {
  int64_t next = 0;
  function->walk([&](Operation *op) {
    if (auto group = op->getAttrOfType<IntegerAttr>(attrs::fusionGroup)) next = std::max(next, group.getInt() + 1);
  });
  return next;
}
