//===- DeviceText.h - descriptions of devices as text ---------------------===//
//
// The format is that of docs/devices.md. Texts may come from strangers: whatever the bytes are, the answer is a
// description or a message.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_DEVICETEXT_H
#define TESSERA_IR_PROGRAM_DEVICETEXT_H

#include "ir/program/Target.h"
#include <functional>

namespace tessera {

/// A longer text is refused.
inline constexpr size_t mostDeviceText = 64 << 10;

/// Reads up to `mostDeviceText + 1` bytes of a file; none, with a message in `problem`, if it cannot be read.
using ReadDeviceFile = std::function<std::optional<std::string>(const std::string &path, std::string &problem)>;

/// Whether a device or a base is named by a path: it contains a `/` or ends in `.device`.
bool isDevicePath(llvm::StringRef name);

/// The device that a text describes. `path` is the file's, for messages and for bases relative to it. Else none, and
/// `problem` is a message that begins with PATH:LINE:COLUMN.
std::optional<Target> parseDevice(llvm::StringRef text, llvm::StringRef path, const ReadDeviceFile &readFile,
                                  std::string &problem);

/// All that is known of a device, as a text that reads as an equal description, without a base. Values must be those
/// that `checkValue` (DeviceFields.h) accepts.
std::string describe(const Target &target);

/// A description in the compiler.
struct DevicePreset {
  llvm::StringLiteral name, text;
};

/// The files of ir/program/devices/. The first one of a kind is its default.
llvm::ArrayRef<DevicePreset> devicePresets();

/// The description of a preset, which must be right.
Target readPreset(const DevicePreset &preset);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_DEVICETEXT_H
