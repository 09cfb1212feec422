//===- PlanText.h - the memory plan as text -------------------------------===//

#ifndef TESSERA_TOOLS_PLANTEXT_H
#define TESSERA_TOOLS_PLANTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// Lines with the memory of `step` by kind, where most is live. Empty for a module without `step`.
std::string memoryByKindText(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_TOOLS_PLANTEXT_H
