//===- Attributes.h - discardable attributes of modules, functions and ops -===//
//
// Their names, and access to those that many phases read. See docs/ir.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_DIALECT_ATTRIBUTES_H
#define TESSERA_IR_DIALECT_ATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace tessera {

namespace attrs {
// On the module.
inline constexpr llvm::StringLiteral axes = "tsr.axes";   ///< canonical axis order: array of strings
inline constexpr llvm::StringLiteral model = "tsr.model"; ///< the model's name
inline constexpr llvm::StringLiteral phase = "tsr.phase"; ///< the last phase that has run
// The device that the program is for (ir/program/Target.h). Phases from `differentiate` on ask for it.
inline constexpr llvm::StringLiteral target = "tsr.target";
inline constexpr llvm::StringLiteral device = "tsr.device";
/// "bias": on a GPU contractions add biases, and have no other epilogues; absent: all that the library has.
inline constexpr llvm::StringLiteral epilogues = "tsr.epilogues";
inline constexpr llvm::StringLiteral data = "tsr.data"; ///< data sources: array of dictionaries, as in the manifest
inline constexpr llvm::StringLiteral settings = "tsr.settings"; ///< run-time settings: dictionary of dictionaries
inline constexpr llvm::StringLiteral audit = "tsr.audit";       ///< unit: `precision` makes the entry function `shadow`
inline constexpr llvm::StringLiteral arena = "tsr.arena";       ///< bytes of the arena, after `schedule`
// On arguments and results of entry functions.
inline constexpr llvm::StringLiteral state = "tsr.state"; ///< symbol of the state entry that the value is
inline constexpr llvm::StringLiteral input =
    "tsr.input"; ///< dictionary {name, role, data, field, of} as in the manifest, and `order`
inline constexpr llvm::StringLiteral output = "tsr.output"; ///< dictionary {name, role} as in the manifest, and `order`
inline constexpr llvm::StringLiteral place = "tsr.place";   ///< #tsr.place, after `schedule`
// On ops.
inline constexpr llvm::StringLiteral name = "tsr.name";     ///< the user's name with its scope: "h.attn.q"
inline constexpr llvm::StringLiteral places = "tsr.places"; ///< one #tsr.place for each result, after `schedule`
inline constexpr llvm::StringLiteral keep = "tsr.keep"; ///< the element type that `precision` must leave to the op: f32
/// On adjacent ops of a block that are fused horizontally, kernels (GPU) or GEMMs (CPU): the number of their group, an
/// i64; after `schedule`.
inline constexpr llvm::StringLiteral launch = "tsr.launch";
} // namespace attrs

/// The user's name of an op, or the empty string.
llvm::StringRef userName(mlir::Operation *op);

/// Gives `to` the user's name of `from`, if it has none itself.
void copyUserName(mlir::Operation *from, mlir::Operation *to);

/// Whether `precision` must leave the op and its results in f32.
inline bool isKept(mlir::Operation *op) { return op && op->hasAttr(attrs::keep); }

/// Has `precision` leave `to` alone if it must leave `from` alone.
void copyKeep(mlir::Operation *from, mlir::Operation *to);

} // namespace tessera

#endif // TESSERA_IR_DIALECT_ATTRIBUTES_H
