//===- DeviceFields.h - the fields of a description of a device -----------===//
//
// One table. Files of descriptions, what a module records of a device (`tsr.device`) and docs/devices.md follow it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_DEVICEFIELDS_H
#define TESSERA_IR_PROGRAM_DEVICEFIELDS_H

#include "ir/program/DeviceValue.h"
#include "ir/program/Target.h"

namespace tessera {

/// Which texts are right: those of a field, or the last parts of the keys of a map.
struct TextForm {
  bool (*accepts)(llvm::StringRef text);
  llvm::StringLiteral expected; ///< for messages
};

struct DeviceField {
  /// Where a `Target` has the value.
  using Place = std::variant<int64_t &(*)(Target &), std::optional<int64_t> &(*)(Target &),
                             std::optional<double> &(*)(Target &), bool &(*)(Target &), std::string &(*)(Target &),
                             SpeedTable &(*)(Target &), FigureMap &(*)(Target &)>;

  llvm::StringLiteral key;          ///< of a map it ends in a period, and what follows is the key of a value
  std::optional<Target::Kind> kind; ///< whose field it is; none: of all devices
  DeviceUnit unit = DeviceUnit::None;
  Place place;
  llvm::StringLiteral meaning;
  double least = 0, most = 0;     ///< of numbers
  const TextForm *form = nullptr; ///< of texts and maps
  bool isRequired = false;        ///< a description without it, and without a base that has it, is refused

  bool isMap() const { return key.ends_with("."); }
};

/// All fields, in the order of files.
llvm::ArrayRef<DeviceField> deviceFields();

/// A field, and in a map the key of the value. Null if no field is called so.
struct FieldKey {
  const DeviceField *field = nullptr;
  llvm::StringRef entry;
};
FieldKey findDeviceField(llvm::StringRef key);

/// The name of a description: letters, digits, `-`, `_` and `.`, at most 64 of them.
bool isDeviceName(llvm::StringRef name);

/// The candidate most like a name, or an empty one if none is near.
llvm::StringRef nearestKey(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// "a CPU" or "a GPU".
llvm::StringRef nameOf(Target::Kind kind);

/// Why a description of that kind cannot have the key; empty if it can.
std::string checkKey(llvm::StringRef key, Target::Kind kind);

/// Which values a field has: "from 1 B to 1 TiB". Of a map, without its keys.
std::string rangeOf(const DeviceField &field);

/// Why a field cannot have the value, which must be of its type; empty if it can.
std::string checkValue(const DeviceField &field, const DeviceValue &value);

/// The value that a text is for a field. Else says in `problem` what is wrong.
std::optional<DeviceValue> parseValue(const DeviceField &field, llvm::StringRef text, TextProblem &problem);
std::string formatValue(const DeviceField &field, const DeviceValue &value);

/// Which of the types of `DeviceValue` a field has, as an index.
size_t typeOf(const DeviceField &field);

/// Sets a field to a value that `checkValue` accepts.
void assign(Target &target, FieldKey key, const DeviceValue &value);

/// The keys and values of all fields that are known, in the order of the table.
std::vector<std::pair<std::string, DeviceValue>> knownFields(const Target &target);

/// The key of a field that the description must have but lacks; else empty.
llvm::StringRef missingField(const Target &target);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_DEVICEFIELDS_H
