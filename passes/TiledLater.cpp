//===- TiledLater.cpp - which contractions `tile` will take -----------------------===//

#include "passes/TiledLater.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"

using namespace mlir;
using namespace tessera;

/// On a contraction of the copy: which one of the module it is a copy of.
static constexpr llvm::StringLiteral numberAttr = "tsr.number";

DenseSet<Operation *> tessera::contractionsTiledLater(ModuleOp module) {
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
  DenseSet<Operation *> tiled;
  if (failed(phases.run(*copy))) return tiled;
  // Contractions that these phases make or replace have no number.
  copy->walk([&](ContractOp contract) {
    auto number = contract->getAttrOfType<IntegerAttr>(numberAttr);
    if (number && isa<TiledOp>(contract->getParentOp())) tiled.insert(contractions[number.getInt()]);
  });
  return tiled;
}
