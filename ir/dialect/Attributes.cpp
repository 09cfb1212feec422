//===- Attributes.cpp - discardable attributes of modules, functions and ops -===//

#include "ir/dialect/Attributes.h"
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

void tessera::copyPrecision(Operation *from, Operation *to) {
  if (Attribute precision = from->getAttr(attrs::precision)) to->setAttr(attrs::precision, precision);
}
