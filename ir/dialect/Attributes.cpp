//===- Attributes.cpp - discardable attributes of modules, functions and ops -===//

#include "ir/dialect/Attributes.h"
#include "ir/dialect/Tsr.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace tessera;

StringRef tessera::userName(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(attrs::name);
  return name ? name.getValue() : StringRef();
}

void tessera::copyUserName(Operation *from, Operation *to) {
  if (Attribute name = from->getAttr(attrs::name); name && !to->hasAttr(attrs::name)) to->setAttr(attrs::name, name);
}

StringRef tessera::stringifyStepPass(StepPass pass) {
  static constexpr StringLiteral names[] = {"forward", "backward", "optimizer"};
  return names[static_cast<unsigned>(pass)];
}

StepPass tessera::stepPass(Operation *op) {
  if (isa<ClipOp, UpdateOp>(op)) return StepPass::Optimizer;
  if (isa<SeedOp>(op)) return StepPass::Backward;
  auto value = op->getAttrOfType<StringAttr>(attrs::pass);
  for (StepPass pass : {StepPass::Backward, StepPass::Optimizer})
    if (value && value.getValue() == stringifyStepPass(pass)) return pass;
  return StepPass::Forward;
}

StepPass tessera::stepPass(ArrayRef<Operation *> ops) {
  StepPass last = StepPass::Forward;
  for (Operation *op : ops) last = std::max(last, stepPass(op));
  return last;
}

void tessera::setStepPass(Operation *op, StepPass pass) {
  bool isNone = op->hasTrait<OpTrait::ConstantLike>() || op->hasTrait<OpTrait::IsTerminator>() ||
                isa<SeedOp, ClipOp, UpdateOp>(op);
  if (isNone) return;
  if (pass == StepPass::Forward)
    op->removeAttr(attrs::pass);
  else
    op->setAttr(attrs::pass, StringAttr::get(op->getContext(), stringifyStepPass(pass)));
}

void tessera::setStepPassBetween(Operation *previous, Operation *end, StepPass pass) {
  Block *block = end->getBlock();
  for (Operation &op :
       llvm::make_range(previous ? std::next(previous->getIterator()) : block->begin(), end->getIterator()))
    op.walk([&](Operation *inner) { setStepPass(inner, pass); });
}

void tessera::copyNotes(Operation *from, Operation *to) {
  copyUserName(from, to);
  if (stepPass(from) > stepPass(to)) setStepPass(to, stepPass(from));
}

void tessera::setOrRemoveAttr(Operation *op, StringRef name, Attribute value) {
  if (value)
    op->setAttr(name, value);
  else
    op->removeAttr(name);
}

bool tessera::isNote(NamedAttribute attribute) {
  return attribute.getName() == attrs::name || attribute.getName() == attrs::pass;
}

void tessera::copyPrecision(Operation *from, Operation *to) {
  if (Attribute precision = from->getAttr(attrs::precision)) to->setAttr(attrs::precision, precision);
}
