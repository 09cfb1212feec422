//===- TiledLater.h - which contractions `tile` will take -----------------===//

#ifndef TESSERA_PASSES_TILEDLATER_H
#define TESSERA_PASSES_TILEDLATER_H

#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// The matrices of a tiled op by their axes; without names if no contraction makes or reads one.
struct TiledMatrix {
  llvm::StringRef rows, columns;
};

/// By contraction.
using TiledContractions = llvm::DenseMap<mlir::Operation *, TiledMatrix>;

/// The contractions of a module before `layout` that will be in a tiled op if they stay as they are.
///
/// That depends on memory orders and on kernels, so that no rule before `layout` could say it. Instead the phases up to
/// `tile` run on a copy of the module.
TiledContractions contractionsTiledLater(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_TILEDLATER_H
