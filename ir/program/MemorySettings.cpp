//===- MemorySettings.cpp - how much memory a program may use -------------===//

#include "ir/program/MemorySettings.h"
#include "ir/dialect/Attributes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tessera;

static constexpr StringLiteral modeNames[] = {"auto", "none", "layer", "sqrt"};
static constexpr StringLiteral budgetKey = "budget", arenaKey = "arena", exchangesKey = "exchanges", wishKey = "wish";

ArrayRef<StringLiteral> tessera::rematModes() { return modeNames; }

std::optional<RematMode> tessera::parseRematMode(StringRef name) {
  auto found = llvm::find(modeNames, name);
  if (found == std::end(modeNames)) return std::nullopt;
  return static_cast<RematMode>(found - std::begin(modeNames));
}

static std::vector<std::string> strings(ModuleOp module, StringRef key) {
  std::vector<std::string> list;
  if (auto array = module->getAttrOfType<ArrayAttr>(key))
    for (auto text : array.getAsRange<StringAttr>()) list.push_back(text.str());
  return list;
}

bool MemorySettings::isRecorded(Attribute attribute) {
  auto memory = dyn_cast<DictionaryAttr>(attribute);
  return memory && llvm::all_of(memory, [](NamedAttribute entry) {
           if (entry.getName() == wishKey) return isa<UnitAttr>(entry.getValue());
           auto bytes = dyn_cast<IntegerAttr>(entry.getValue());
           return llvm::is_contained({budgetKey, arenaKey, exchangesKey}, entry.getName().getValue()) && bytes &&
                  bytes.getType().isSignlessInteger(64) && bytes.getInt() >= 0;
         });
}

MemorySettings MemorySettings::of(ModuleOp module) {
  MemorySettings settings;
  if (auto memory = module->getAttrOfType<DictionaryAttr>(attrs::memory)) {
    auto number = [&](StringRef key) -> std::optional<int64_t> {
      auto value = memory.getAs<IntegerAttr>(key);
      return value ? std::optional(value.getInt()) : std::nullopt;
    };
    settings.budget = number(budgetKey), settings.arena = number(arenaKey), settings.isWish = memory.contains(wishKey);
    settings.exchanges = number(exchangesKey).value_or(0);
  }
  if (auto mode = module->getAttrOfType<StringAttr>(attrs::remat)) settings.mode = parseRematMode(mode.getValue());
  settings.saved = strings(module, attrs::save), settings.recomputed = strings(module, attrs::recompute);
  return settings;
}

void MemorySettings::record(ModuleOp module) const {
  Builder builder(module.getContext());
  auto set = [&](StringRef key, Attribute value) { setOrRemoveAttr(module, key, value); };
  SmallVector<NamedAttribute> memory;
  if (arena) memory.push_back(builder.getNamedAttr(arenaKey, builder.getI64IntegerAttr(*arena)));
  if (budget) memory.push_back(builder.getNamedAttr(budgetKey, builder.getI64IntegerAttr(*budget)));
  if (exchanges > 0) memory.push_back(builder.getNamedAttr(exchangesKey, builder.getI64IntegerAttr(exchanges)));
  if (isWish) memory.push_back(builder.getNamedAttr(wishKey, builder.getUnitAttr()));
  set(attrs::memory, memory.empty() ? Attribute() : builder.getDictionaryAttr(memory));
  set(attrs::remat, mode ? builder.getStringAttr(modeNames[static_cast<size_t>(*mode)]) : Attribute());
  auto list = [&](const std::vector<std::string> &texts) -> Attribute {
    if (texts.empty()) return {};
    SmallVector<StringRef> references(texts.begin(), texts.end());
    return builder.getStrArrayAttr(references);
  };
  set(attrs::save, list(saved)), set(attrs::recompute, list(recomputed));
}
