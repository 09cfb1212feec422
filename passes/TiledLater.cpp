//===- TiledLater.cpp - which contractions `tile` will take -----------------------===//

#include "passes/TiledLater.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/tile/TiledContraction.h"

using namespace mlir;
using namespace tessera;

/// On a contraction of the copy: which one of the module it is a copy of.
static constexpr llvm::StringLiteral numberAttr = "tsr.number";

TiledContractions tessera::contractionsTiledLater(ModuleOp module) {
  IRMapping map;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone(map)));
  Builder builder(module.getContext());
  SmallVector<Operation *> contractions;
  module.walk([&](ContractOp contract) {
    map.lookup<Operation *>(contract)->setAttr(numberAttr, builder.getI64IntegerAttr(contractions.size()));
    contractions.push_back(contract);
  });

  PassManager phases(module.getContext());
  addPhases(phases, "chunk", "tile");
  // What fails on the copy will fail on the module, and be reported there.
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  TiledContractions tiled;
  if (failed(phases.run(*copy))) return tiled;
  // Contractions that these phases make or replace have no number.
  copy->walk([&](ContractOp contract) {
    auto number = contract->getAttrOfType<IntegerAttr>(numberAttr);
    auto tiledOp = dyn_cast<TiledOp>(contract->getParentOp());
    if (!number || !tiledOp) return;
    TiledMatrix &matrix = tiled[contractions[number.getInt()]];
    if (std::optional<MatrixAxes> axes = MatrixAxes::of(tiledOp))
      matrix = {axes->rows.getName(), axes->columns.getName()};
  });
  return tiled;
}
