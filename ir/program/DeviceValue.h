//===- DeviceValue.h - values with units, as text -------------------------===//
//
// `80 GB`, `3.35 TB/s`, `0.35 ns`. Reading rounds once, and writing is exact: what is written reads as the same value.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_DEVICEVALUE_H
#define TESSERA_IR_PROGRAM_DEVICEVALUE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace tessera {

enum class DeviceUnit { None, Bytes, Bandwidth, Rate, Time, Frequency, Percent, Price };

/// A whole number, another number, `yes` or `no`, or a text.
using DeviceValue = std::variant<int64_t, double, bool, std::string>;

/// What is wrong with a text, and where in it.
struct TextProblem {
  size_t offset = 0;
  std::string message;
};

/// The names of a unit, for messages and documents: "B, KB, KiB, …"; empty for `None`.
std::string unitNames(DeviceUnit unit);

/// A whole number of the unit's smallest part, such as bytes.
std::optional<int64_t> parseWhole(llvm::StringRef text, DeviceUnit unit, TextProblem &problem);

/// A number in the base unit: seconds, bytes a second.
std::optional<double> parseReal(llvm::StringRef text, DeviceUnit unit, TextProblem &problem);

/// The shortest text that reads as the value.
std::string formatWhole(int64_t value, DeviceUnit unit);
std::string formatReal(double value, DeviceUnit unit);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_DEVICEVALUE_H
