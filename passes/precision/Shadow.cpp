//===- Shadow.cpp - the f32 reference step of a precision audit -----------===//

#include "passes/precision/Shadow.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

void tessera::addShadow(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step) return;
  func::FuncOp shadow = step.clone();
  shadow.setName("shadow");
  module.push_back(shadow);
  SmallVector<UpdateOp> updates;
  auto f32 = TypeAttr::get(Float32Type::get(module.getContext()));
  shadow.walk([&](Operation *op) {
    if (auto update = dyn_cast<UpdateOp>(op)) updates.push_back(update);
    if (isa<TsrDialect>(op->getDialect()) && !isa<YieldOp>(op) && !op->hasTrait<OpTrait::ConstantLike>())
      op->setAttr(attrs::precision, f32);
  });
  // Outputs alone are returned: no state.
  Operation *end = shadow.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> tags;
  for (OpOperand &use : end->getOpOperands()) {
    if (!resultState(shadow, use.getOperandNumber()).empty()) continue;
    values.push_back(use.get());
    tags.push_back(shadow.getResultAttrDict(use.getOperandNumber()));
  }
  end->setOperands(values);
  for (UpdateOp update : updates) update.erase();
  shadow.setFunctionType(
      FunctionType::get(module.getContext(), shadow.getArgumentTypes(), ValueRange(values).getTypes()));
  shadow.setAllResultAttrs(tags);
}
