//===- RecordForm.cpp - what a dictionary that is recorded in a module has ===//

#include "ir/program/RecordForm.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

static std::optional<int64_t> bytesIn(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  bool fits = number && number.getType().isSignlessInteger() && number.getValue().isSignedIntN(64);
  return fits ? std::optional(number.getInt()) : std::nullopt;
}

bool tessera::isSize(Attribute attribute) {
  std::optional<int64_t> bytes = bytesIn(attribute);
  return bytes && *bytes >= 0 && *bytes <= mostBytes;
}

bool tessera::isDifference(Attribute attribute) {
  std::optional<int64_t> bytes = bytesIn(attribute);
  return bytes && *bytes >= -mostBytes && *bytes <= mostBytes;
}

bool tessera::isFinite(Attribute attribute) {
  auto number = dyn_cast<FloatAttr>(attribute);
  return number && number.getType().isF64() && number.getValue().isFinite();
}

bool tessera::isRecord(Attribute attribute, ArrayRef<RecordField> fields, bool others) {
  auto record = dyn_cast<DictionaryAttr>(attribute);
  if (!record) return false;
  size_t known = 0;
  for (const RecordField &field : fields) {
    Attribute value = record.get(field.name);
    if (value ? !field.holds(value) : !field.isOptional) return false;
    known += bool(value);
  }
  return others || known == record.size();
}

bool tessera::isListOfRecords(Attribute attribute, ArrayRef<RecordField> fields) {
  auto list = dyn_cast<ArrayAttr>(attribute);
  return list && llvm::all_of(list, [&](Attribute entry) { return isRecord(entry, fields); });
}
