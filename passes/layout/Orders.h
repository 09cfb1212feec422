//===- Orders.h - which memory order each value gets ------------------------===//

#ifndef TESSERA_PASSES_LAYOUT_ORDERS_H
#define TESSERA_PASSES_LAYOUT_ORDERS_H

#include "ir/dialect/GraphBuilder.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// An operand that must be moved: `use` needs its value in the order of `type`.
struct OperandReorder {
  mlir::OpOperand *use;
  NamedTensorType type;
};

/// The memory order of every value of the module, and the operands that must be moved.
struct LayoutPlan {
  llvm::DenseMap<mlir::Value, NamedTensorType> types; ///< for look-up only
  llvm::StringMap<NamedTensorType> stateTypes;        ///< by path
  llvm::SmallVector<OperandReorder> reorders;         ///< in program order
};

/// Chooses orders; changes nothing.
LayoutPlan planLayout(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_LAYOUT_ORDERS_H
