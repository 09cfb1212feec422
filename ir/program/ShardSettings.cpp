//===- ShardSettings.cpp - what the user says about ranks -----------------===//

#include "ir/program/ShardSettings.h"
#include "ir/dialect/Attributes.h"
#include "mlir/IR/Builders.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;

static constexpr StringLiteral pathKey = "path", axisKey = "axis", alongKey = "along";

static std::string textAt(DictionaryAttr entry, StringRef key) {
  auto text = entry.getAs<StringAttr>(key);
  return text ? text.str() : std::string();
}

ShardSettings ShardSettings::of(ModuleOp module) {
  ShardSettings settings;
  ProgramMesh mesh = ProgramMesh::of(module);
  for (AxisAttr axis : mesh.getAxes()) settings.mesh.emplace_back(axis.getName().str(), axis.getSize());
  if (auto rules = module->getAttrOfType<DictionaryAttr>(attrs::shard))
    for (NamedAttribute rule : rules)
      settings.axes.push_back({rule.getName().str(), cast<StringAttr>(rule.getValue()).str()});
  if (auto states = module->getAttrOfType<ArrayAttr>(attrs::shardStates))
    for (auto entry : states.getAsRange<DictionaryAttr>())
      settings.states.push_back({textAt(entry, pathKey), textAt(entry, axisKey), textAt(entry, alongKey)});
  if (auto zero = module->getAttrOfType<IntegerAttr>(attrs::zero))
    settings.zero = static_cast<ZeroLevel>(std::clamp<int64_t>(zero.getInt(), 0, 3));
  if (auto leaves = module->getAttrOfType<IntegerAttr>(attrs::leaves)) settings.leaves = leaves.getInt();
  if (auto devices = module->getAttrOfType<IntegerAttr>(attrs::devices)) settings.devices = devices.getInt();
  if (auto reductions = module->getAttrOfType<StringAttr>(attrs::reductions))
    settings.addsInLibrary = reductions.getValue() == libraryReductions;
  return settings;
}

void ShardSettings::record(ModuleOp module) const {
  MLIRContext *context = module.getContext();
  Builder b(context);
  auto set = [&](StringRef key, Attribute value) { setOrRemoveAttr(module, key, value); };
  SmallVector<AxisAttr> axesOfMesh;
  for (const auto &[name, size] : mesh) axesOfMesh.push_back(AxisAttr::get(context, name, size));
  module->removeAttr(attrs::mesh);
  if (!mesh.empty()) ProgramMesh::set(module, axesOfMesh);
  auto text = [&](StringRef key, StringRef value) { return b.getNamedAttr(key, b.getStringAttr(value)); };
  SmallVector<NamedAttribute> rules;
  for (const AxisRule &rule : axes) rules.push_back(text(rule.axis, rule.along));
  set(attrs::shard, rules.empty() ? Attribute() : b.getDictionaryAttr(rules));
  SmallVector<Attribute> ofStates;
  for (const StateRule &rule : states)
    ofStates.push_back(
        b.getDictionaryAttr({text(pathKey, rule.path), text(axisKey, rule.axis), text(alongKey, rule.along)}));
  set(attrs::shardStates, ofStates.empty() ? Attribute() : b.getArrayAttr(ofStates));
  set(attrs::zero, zero ? b.getI64IntegerAttr(static_cast<int64_t>(*zero)) : Attribute());
  set(attrs::leaves, leaves == 0 ? Attribute() : b.getI64IntegerAttr(leaves));
  set(attrs::devices, devices == 0 ? Attribute() : b.getI64IntegerAttr(devices));
  set(attrs::reductions, addsInLibrary ? b.getStringAttr(libraryReductions) : Attribute());
}
