//===- MemoryPlanWriter.cpp - memory against time, for the manifest -------===//
//
// The phase `rematerialize` knows what the storage of `step` takes with each plan. The arena of a program holds the
// other entry functions too, the library's workspace and the threads' scratch memory. Those of other programs are taken
// to be as large as in this one, and on top of all values: at most they are.
//
//===----------------------------------------------------------------------===//

#include "codegen/program/MemoryPlanWriter.h"
#include "ir/dialect/Attributes.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "passes/memory/BufferList.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tessera;
using llvm::json::OStream;

double tessera::sixDigits(double number) {
  double value = 0;
  StringRef(llvm::formatv("{0:e5}", number).str()).getAsDouble(value);
  return value;
}

/// What the arena holds whatever `step` recomputes. The batch of `predict` adapts to `step`, down to one row.
static int64_t leastPlanned(ModuleOp module) {
  int64_t ofStep = plannedBytes(module, "step"), least = 0;
  for (func::FuncOp function : entryFunctions(module)) {
    int64_t bytes = plannedBytes(module, function.getName());
    bool adapts = function.getName() == "step" || (function.getName() == "predict" && bytes <= ofStep);
    if (!adapts) least = std::max(least, bytes);
  }
  return least;
}

static int64_t integerIn(DictionaryAttr record, StringRef key) { return record.getAs<IntegerAttr>(key).getInt(); }

static double secondsIn(DictionaryAttr record) {
  return sixDigits(record.getAs<FloatAttr>("seconds").getValueAsDouble());
}

static void writePlans(ModuleOp module, ArrayAttr frontier, int64_t arenaBytes, int64_t mostBehind, OStream &json) {
  int64_t least = leastPlanned(module), last = std::numeric_limits<int64_t>::max();
  for (auto point : frontier.getAsRange<DictionaryAttr>()) {
    bool isChosen = point.contains("chosen");
    int64_t bytes = isChosen ? arenaBytes : mostBehind + std::max(least, integerIn(point, "arena"));
    if (bytes >= last && !isChosen) continue; // other entry functions need as much
    last = std::min(last, bytes);
    json.object([&] {
      json.attribute("arena", bytes);
      json.attribute("seconds", secondsIn(point));
      json.attribute("what", point.getAs<StringAttr>("what").getValue());
      if (isChosen) json.attribute("chosen", true);
    });
  }
}

static void writeValues(ArrayAttr values, OStream &json) {
  for (auto value : values.getAsRange<DictionaryAttr>())
    json.object([&] {
      for (StringRef key : {"name", "path", "axis"})
        if (auto text = value.getAs<StringAttr>(key)) json.attribute(key, text.getValue());
      for (StringRef key : {"layers", "saved", "recomputed", "bytes"}) json.attribute(key, integerIn(value, key));
      if (auto other = value.getAs<DictionaryAttr>("alternative"))
        json.attributeObject("alternative", [&] {
          json.attribute("seconds", secondsIn(other));
          json.attribute("bytes", integerIn(other, "bytes"));
        });
    });
}

void tessera::writeMemoryPlan(ModuleOp module, int64_t arenaBytes, int64_t mostBehind, OStream &json) {
  auto frontier = module->getAttrOfType<ArrayAttr>(attrs::frontier);
  if (!frontier) return;
  json.attributeObject("memory", [&] {
    if (std::optional<int64_t> budget = MemorySettings::of(module).budget) json.attribute("budget", *budget);
    json.attributeArray("frontier", [&] { writePlans(module, frontier, arenaBytes, mostBehind, json); });
    auto values = module->getAttrOfType<ArrayAttr>(attrs::layerValues);
    if (!values) return;
    json.attributeArray("values", [&] { writeValues(values, json); });
  });
}
