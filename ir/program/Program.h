//===- Program.h - the module as a program --------------------------------===//
//
// The walk from a module to its state table and entry functions. See docs/ir.md.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IR_PROGRAM_PROGRAM_H
#define TESSERA_IR_PROGRAM_PROGRAM_H

#include "ir/dialect/Attributes.h"
#include "ir/dialect/Tsr.h"
#include "llvm/ADT/StringMap.h"

namespace tessera {

/// Paths of the state that a dynamic loss scale adds. The model has no parameter or state at these.
namespace scaling {
inline constexpr llvm::StringLiteral scale = "loss_scale";       ///< f32
inline constexpr llvm::StringLiteral cleanSteps = "clean_steps"; ///< i32: since the scale changed or a step was skipped
inline constexpr llvm::StringLiteral skipped = "skipped_steps";  ///< i32
inline constexpr llvm::StringLiteral all[] = {scale, cleanSteps, skipped};
} // namespace scaling

/// The entry functions in their fixed order: init, step, evaluate, predict, generate, shadow; those the module has.
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

/// `name`, made longer by `suffix` as often as it takes until it is not taken.
std::string freshName(std::string name, llvm::StringRef suffix, llvm::function_ref<bool(llvm::StringRef)> isTaken);

/// How often an op runs in one call of its function.
int64_t runsPerCall(mlir::Operation *op);

/// The innermost place in the user's own files; null if the op has none.
mlir::FileLineColLoc userPlace(mlir::Location loc);

/// How lines name a file: without folders, so that equal input gives equal programs in any folder, and printable (UTF-8
/// too).
std::string fileNameInLines(llvm::StringRef path);

/// The innermost place in the user's own files as "file:line:column", for people. Empty if the op has none.
std::string userLine(mlir::Location loc);

/// What the module was made from, as the manifest has it under `source`; null if it is not known. It is the metadata of
/// the module's location, and so a part of dumps with locations only.
mlir::DictionaryAttr sourceOf(mlir::ModuleOp module);
void setSource(mlir::ModuleOp module, mlir::DictionaryAttr source);

/// Whether an op is part of a kernel or of a tiled op: its values have no buffers of their own.
inline bool isInsideKernel(mlir::Operation *op) { return llvm::isa<KernelOp, TiledOp>(op->getParentOp()); }

} // namespace tessera

#endif // TESSERA_IR_PROGRAM_PROGRAM_H
