//===- TiledLater.h - which contractions `tile` will take -----------------===//

#ifndef TESSERA_PASSES_TILEDLATER_H
#define TESSERA_PASSES_TILEDLATER_H

#include "passes/tile/TiledMatrix.h"

namespace tessera {

/// The contractions and attentions of a module before `layout` that will be in a tiled op if they stay as they are.
///
/// That depends on memory orders and on kernels, so that no rule before `layout` could say it. Instead the phases up to
/// `tile` run on a copy of the module.
TiledContractions contractionsTiledLater(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_PASSES_TILEDLATER_H
