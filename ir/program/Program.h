//===- Program.h - the module as a program --------------------------------===//
//
// Names of attributes that carry the program's meaning, and the walk from a
// module to its state table and entry functions. See docs/ir.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_H
#define TESSERA_IR_PROGRAM_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/StringMap.h"

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
/// For a GPU, on kernels that follow each other in a block: one launch runs those of one number (i64); after
/// `schedule`.
inline constexpr llvm::StringLiteral launch = "tsr.launch";
} // namespace attrs

/// The entry functions in their fixed order: init, step, evaluate, predict, shadow; those the module has.
llvm::SmallVector<mlir::func::FuncOp> entryFunctions(mlir::ModuleOp module);

/// Whether the program is for an audit of its precision: it has the entry function `shadow`, which is compared with
/// `step` call by call.
bool hasShadow(mlir::ModuleOp module);

/// The state table in module order.
llvm::SmallVector<StateOp> stateTable(mlir::ModuleOp module);

/// The state table by path.
llvm::StringMap<StateOp> statesByPath(mlir::ModuleOp module);

/// The path of the state that an argument or a result carries; empty if none.
llvm::StringRef argumentState(mlir::func::FuncOp function, unsigned argument);
llvm::StringRef resultState(mlir::func::FuncOp function, unsigned result);

/// The order of axes in memory that the outside wants of an input or output: `order` of its tag `tsr.input` or
/// `tsr.output`; empty if the compiler may choose.
llvm::SmallVector<llvm::StringRef> argumentOrder(mlir::func::FuncOp function, unsigned argument);
llvm::SmallVector<llvm::StringRef> resultOrder(mlir::func::FuncOp function, unsigned result);

/// Sets an attribute of all arguments, or of all results, at once: one at a time, each would copy those of all others.
void setArgumentAttrs(mlir::func::FuncOp function, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> attributes);
void setResultAttrs(mlir::func::FuncOp function, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> attributes);

/// The user's name of an op, or the empty string.
llvm::StringRef userName(mlir::Operation *op);

/// Gives `to` the user's name of `from`, if it has none itself.
void copyUserName(mlir::Operation *from, mlir::Operation *to);

/// `name`, made longer by `suffix` as often as it takes until it is not taken.
std::string freshName(std::string name, llvm::StringRef suffix, llvm::function_ref<bool(llvm::StringRef)> isTaken);

/// How often an op runs in one call of its function.
int64_t runsPerCall(mlir::Operation *op);

/// The innermost line of the user's own files, as "file:line:column"; empty if the op has none.
std::string userLine(mlir::Location loc);

/// Whether `precision` must leave the op and its results in f32.
inline bool isKept(mlir::Operation *op) { return op && op->hasAttr(attrs::keep); }

/// Has `precision` leave `to` alone if it must leave `from` alone.
void copyKeep(mlir::Operation *from, mlir::Operation *to);

/// Whether an op is part of a kernel or of a tiled op: its values have no buffers of their own.
inline bool isInsideStep(mlir::Operation *op) { return llvm::isa<KernelOp, TiledOp>(op->getParentOp()); }

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_H
