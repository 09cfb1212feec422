//===- Machines.h - the machines that the ranks of a program run on -------===//
//
// `tsr.machines = {count = 2, devices = 8}` of the module: two machines with eight devices each. Rank r is on machine
// r / devices. Predicted times depend on it, and what follows from them. Without it all are on one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_MACHINES_H
#define TESSERA_IR_PROGRAM_MACHINES_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// More machines, or devices in one, are a slip of the keyboard.
inline constexpr int64_t mostMachines = 1 << 20;

struct Machines {
  int64_t count = 1;
  int64_t devices = 1; ///< in each

  bool operator==(const Machines &) const = default;
  /// Of all machines.
  int64_t allDevices() const { return count * devices; }
  /// "2 machines with 8 devices each", "one machine with 8 devices".
  std::string text() const;

  /// Whether an attribute is what `record` makes.
  static bool isRecorded(mlir::Attribute attribute);
  /// What the module records; none: all ranks are on one machine.
  static std::optional<Machines> of(mlir::ModuleOp module);
  void record(mlir::ModuleOp module) const;
};

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_MACHINES_H
