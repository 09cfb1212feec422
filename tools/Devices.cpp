//===- Devices.cpp - the command `tessera devices` ------------------------===//

#include "ir/program/DeviceText.h"
#include "ir/program/DeviceValue.h"
#include "tools/Commands.h"
#include "tools/Messages.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tessera;

static std::string textOf(const std::optional<int64_t> &value, DeviceUnit unit) {
  return value ? formatWhole(*value, unit) : "-";
}

static std::string textOf(const std::optional<double> &value, DeviceUnit unit) {
  return value ? formatReal(*value, unit) : "-";
}

static void printLine(llvm::StringRef name, llvm::StringRef kind, llvm::ArrayRef<std::string> figures) {
  std::string line = llvm::formatv("{0,-10} {1,-5}", name, kind);
  for (const std::string &figure : figures) line += llvm::formatv(" {0,14}", figure);
  results() << line << "\n";
}

/// One line for each preset; `-` is what is not known.
static void listPresets() {
  printLine("name", "kind", {"memory", "copies", "f32", "bf16", "fp8"});
  for (const Target &preset : Target::presets()) {
    const DeviceFigures &figures = preset.figures;
    printLine(preset.device, preset.isGpu() ? "gpu" : "cpu",
              {textOf(figures.memoryBytes, DeviceUnit::Bytes), textOf(figures.copyBandwidth, DeviceUnit::Bandwidth),
               textOf(figures.rates.f32, DeviceUnit::Rate), textOf(figures.rates.bf16, DeviceUnit::Rate),
               textOf(figures.rates.fp8, DeviceUnit::Rate)});
  }
}

int tessera::runDevices(const CommandOptions &options) {
  if (options.on.empty()) {
    listPresets();
    return ExitDone;
  }
  DeviceOption device;
  std::string problem;
  if (int status = parseDeviceOption(options.on, device, problem)) {
    messages() << "error: " << problem << "\n";
    return status;
  }
  if (device.count() > 1) {
    messages() << "error: expected one device, got " << options.on << "\n";
    return ExitUsage;
  }
  results() << describe(device.target);
  return ExitDone;
}
