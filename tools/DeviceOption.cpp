//===- DeviceOption.cpp - the value of `--on` -------------------------------===//

#include "tools/DeviceOption.h"
#include "frontend/diagnostics/Diagnostics.h"
#include "ir/program/DeviceText.h"
#include "tools/Input.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace tessera;
using llvm::StringRef;

static llvm::SmallVector<StringRef> presetList() {
  return llvm::map_to_vector(Target::presets(), [](const Target &preset) { return preset.device; });
}

std::string tessera::presetNames() { return llvm::join(presetList(), ", "); }

/// Reads a file of a description and those of its bases.
static int readFile(const std::string &path, DeviceOption &option, std::string &problem) {
  auto read = [&](const std::string &file, std::string &wrong) -> std::optional<std::string> {
    std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(file, mostDeviceText + 1, wrong);
    if (!buffer) return std::nullopt;
    option.files.push_back(file);
    return buffer->getBuffer().str();
  };
  std::string wrong;
  std::optional<std::string> text = read(path, wrong);
  if (!text) return problem = "cannot read the description " + path + ": " + wrong, ExitInput;
  std::optional<Target> target = parseDevice(*text, path, read, problem);
  if (!target) return ExitInput;
  option.target = *target;
  return ExitDone;
}

/// Takes `8x` before a name. Returns the digits; empty if there are none.
static StringRef takeCount(StringRef &text) {
  StringRef digits = text.take_while(llvm::isDigit), rest = text.drop_front(digits.size());
  if (digits.empty() || !rest.consume_front("x")) return "";
  text = rest;
  return digits;
}

/// The machines and devices of `8x` or `2x8x` before a name, which is left; false if there are too few or too many.
static bool takeMachines(StringRef &text, std::optional<Machines> &machines) {
  StringRef first = takeCount(text), second = takeCount(text);
  if (first.empty()) return true;
  Machines taken;
  bool isWrong = !second.empty() && first.getAsInteger(10, taken.count);
  isWrong |= (second.empty() ? first : second).getAsInteger(10, taken.devices);
  if (isWrong || taken.count < 1 || taken.devices < 1 || taken.count > mostMachines || taken.devices > mostMachines ||
      taken.allDevices() > mostMachines)
    return false;
  machines = taken;
  return true;
}

int tessera::parseDeviceOption(StringRef text, DeviceOption &option, std::string &problem) {
  StringRef name = text;
  if (!takeMachines(name, option.machines))
    return problem = ("expected from 1 to 1048576 devices, got `" + text + "`").str(), ExitUsage;
  if (isDevicePath(name)) return readFile(name.str(), option, problem);
  if (std::optional<Target> preset = Target::named(name)) {
    option.target = *preset;
    return ExitDone;
  }
  if (name.empty())
    return problem =
               ("expected the name of a device, as in 8xh100, got `" + text + "`; they are " + presetNames()).str(),
           ExitUsage;
  if (llvm::sys::fs::exists(name)) return readFile(name.str(), option, problem);
  StringRef nearest = nearestName(name, presetList());
  problem = ("no device is called `" + name + "`, and there is no such file; " +
             (nearest.empty() ? "the devices are " + presetNames() : "did you mean `" + nearest.str() + "`?"))
                .str();
  return ExitUsage;
}
