//===- MemorySettings.h - how much memory a program may use ---------------===//
//
// What the user says about memory, as the module records it:
//
//   tsr.memory = {budget = 8589934592, arena = 8550000000}   bytes of the program, and what of them its arena may take
//                                                            `wish` beside them: more is no error; `exchanges`: what
//                                                            recomputation leaves free of the arena
//   tsr.remat = "layer"                                       what is recomputed; absent: what the budget asks for
//   tsr.save = ["h.attn.*"], tsr.recompute = ["h.mlp.up"]     values that are saved, or recomputed, whatever the rest
//
// The phase `rematerialize` reads them.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_MEMORYSETTINGS_H
#define TESSERA_IR_PROGRAM_MEMORYSETTINGS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// What the backward pass computes again.
enum class RematMode {
  Auto,  ///< as little as the budget allows
  None,  ///< nothing
  Layer, ///< each layer of a stack, from its input
  Sqrt,  ///< segments of a stack, about as many as they have layers; and in them each layer
};

struct MemorySettings {
  std::optional<int64_t> budget;              ///< bytes that the program may use in all
  std::optional<int64_t> arena;               ///< of them, that the arena may take; none: not known yet
  int64_t exchanges = 0;                      ///< bytes of the arena for places of exchanges beside kernels
  bool isWish = false;                        ///< a program that takes more than the budget is no error
  std::optional<RematMode> mode;              ///< none: `Auto` with a budget, else `None`
  std::vector<std::string> saved, recomputed; ///< patterns of names

  bool operator==(const MemorySettings &) const = default;
  RematMode getMode() const { return mode ? *mode : budget ? RematMode::Auto : RematMode::None; }
  bool hasPins() const { return !saved.empty() || !recomputed.empty(); }

  /// Whether an attribute can be `tsr.memory`.
  static bool isRecorded(mlir::Attribute attribute);
  static MemorySettings of(mlir::ModuleOp module);
  /// Replaces what the module records.
  void record(mlir::ModuleOp module) const;
};

/// The names of the modes, in their order.
llvm::ArrayRef<llvm::StringLiteral> rematModes();
std::optional<RematMode> parseRematMode(llvm::StringRef name);

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_MEMORYSETTINGS_H
