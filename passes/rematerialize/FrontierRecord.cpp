//===- FrontierRecord.cpp - what a module says about recomputation --------===//

#include "passes/rematerialize/FrontierRecord.h"
#include "ir/dialect/Attributes.h"
#include "passes/memory/PlanStorage.h"
#include "passes/rematerialize/PlanWords.h"

using namespace mlir;
using namespace tessera;

namespace {
/// A dictionary that is made entry by entry.
class Record {
public:
  explicit Record(Builder &builder) : builder(builder) {}

  Record &add(StringRef key, int64_t value) { return add(key, builder.getI64IntegerAttr(value)); }
  Record &add(StringRef key, double value) { return add(key, builder.getF64FloatAttr(value)); }
  Record &add(StringRef key, const std::string &value) { return add(key, builder.getStringAttr(value)); }
  Record &add(StringRef key, Attribute value) {
    fields.push_back(builder.getNamedAttr(key, value));
    return *this;
  }
  Attribute get() const { return builder.getDictionaryAttr(fields); }

private:
  Builder &builder;
  SmallVector<NamedAttribute> fields;
};
} // namespace

static Attribute asAttribute(const LayerValue &value, Builder &builder) {
  Record record(builder);
  record.add("name", value.name).add("axis", value.axis).add("layers", value.layers).add("saved", value.saved);
  record.add("recomputed", value.recomputed).add("bytes", value.bytes);
  if (!value.path.empty()) record.add("path", value.path);
  if (const auto &other = value.alternative)
    record.add("alternative", Record(builder).add("seconds", other->seconds).add("bytes", other->bytes).get());
  return record.get();
}

void tessera::recordFrontier(func::FuncOp step, ArrayRef<FrontierPoint> frontier, size_t chosen,
                             const PinPatterns &names, const OpTimes &times, bool pricesValues) {
  auto module = step->getParentOfType<ModuleOp>();
  Builder builder(step.getContext());
  int64_t state = stateBytes(module);
  SmallVector<Attribute> points, values;
  for (auto [i, point] : llvm::enumerate(frontier)) {
    Record record(builder);
    record.add("arena", state + point.bytes).add("live", state + point.live).add("seconds", point.seconds);
    record.add("what", wordsOf(step, point.plan));
    if (i == chosen) record.add("chosen", builder.getUnitAttr());
    points.push_back(record.get());
  }
  for (const LayerValue &value : listLayerValues(step, frontier[chosen].plan, names, times, pricesValues))
    values.push_back(asAttribute(value, builder));
  module->setAttr(attrs::frontier, builder.getArrayAttr(points));
  if (!values.empty()) module->setAttr(attrs::layerValues, builder.getArrayAttr(values));
}
