//===- Machines.cpp - the machines that the ranks of a program run on -----===//

#include "ir/program/Machines.h"
#include "ir/dialect/Attributes.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tessera;

static constexpr StringLiteral countKey = "count", devicesKey = "devices";

std::string Machines::text() const {
  std::string each = devices == 1 ? "one device" : std::to_string(devices) + " devices";
  return count == 1 ? "one machine with " + each : std::to_string(count) + " machines with " + each + " each";
}

/// From 1 to `mostMachines`; else 0.
static int64_t numberAt(DictionaryAttr recorded, StringRef key) {
  auto number = recorded.getAs<IntegerAttr>(key);
  bool isRight =
      number && number.getType().isSignlessInteger(64) && number.getInt() >= 1 && number.getInt() <= mostMachines;
  return isRight ? number.getInt() : 0;
}

bool Machines::isRecorded(Attribute attribute) {
  auto recorded = dyn_cast<DictionaryAttr>(attribute);
  return recorded && recorded.size() == 2 && numberAt(recorded, countKey) > 0 && numberAt(recorded, devicesKey) > 0;
}

std::optional<Machines> Machines::of(ModuleOp module) {
  Attribute recorded = module->getAttr(attrs::machines);
  if (!recorded || !isRecorded(recorded)) return std::nullopt;
  auto numbers = cast<DictionaryAttr>(recorded);
  return Machines{numberAt(numbers, countKey), numberAt(numbers, devicesKey)};
}

void Machines::record(ModuleOp module) const {
  Builder b(module.getContext());
  module->setAttr(attrs::machines, b.getDictionaryAttr({b.getNamedAttr(countKey, b.getI64IntegerAttr(count)),
                                                        b.getNamedAttr(devicesKey, b.getI64IntegerAttr(devices))}));
}
