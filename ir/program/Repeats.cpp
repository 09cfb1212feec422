//===- Repeats.cpp - more operands and results of repeats -----------------===//

#include "ir/program/Repeats.h"

using namespace mlir;
using namespace tessera;

BlockArgument tessera::addSliced(RepeatOp repeat, Value operand) {
  NamedTensorType slice = tensorType(operand).withoutAxis(repeat.getAxis().getName());
  unsigned at = 1 + repeat.getCarried().size() + repeat.getSliced().size();
  repeat.getSlicedMutable().append(operand);
  return repeat.getBlock().insertArgument(at, slice, operand.getLoc());
}

BlockArgument tessera::addInvariant(RepeatOp repeat, Value operand) {
  repeat.getInvariantsMutable().append(operand);
  return repeat.getBlock().addArgument(operand.getType(), operand.getLoc());
}

BlockArgument tessera::addLike(RepeatOp repeat, BlockArgument like, Value operand) {
  bool isSliced = llvm::is_contained(repeat.getSlicedArgs(), like);
  return isSliced ? addSliced(repeat, operand) : addInvariant(repeat, operand);
}

Value tessera::importInto(Block *block, Value value) {
  if (value.getParentBlock() == block) return value;
  auto repeat = dyn_cast<RepeatOp>(block->getParentOp());
  if (!repeat) return {};
  Value outer = importInto(repeat->getBlock(), value);
  if (!outer) return {};
  bool isSliced = tensorType(outer).hasAxis(repeat.getAxis().getName());
  return isSliced ? addSliced(repeat, outer) : addInvariant(repeat, outer);
}

RepeatOp tessera::addStacked(RepeatOp repeat, ValueRange values) {
  if (values.empty()) return repeat;
  GraphBuilder b(repeat);
  SmallVector<Type> types(repeat->getResultTypes());
  for (Value value : values) types.push_back(b.withAxis(tensorType(value), repeat.getAxis()));
  auto rebuilt = RepeatOp::create(b, repeat.getLoc(), types, repeat.getAxis(), repeat.getReverse(), repeat.getCarried(),
                                  repeat.getSliced(), repeat.getInvariants(), repeat.getArgPlacesAttr());
  rebuilt->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
  rebuilt.getBody().takeBody(repeat.getBody());
  rebuilt.getYield().getValuesMutable().append(values);
  repeat->replaceAllUsesWith(rebuilt->getResults().take_front(repeat->getNumResults()));
  repeat->erase();
  return rebuilt;
}
