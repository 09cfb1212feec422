//===- TiledLater.cpp - which contractions `tile` will take -----------------------===//

#include "passes/TiledLater.h"
#include "ir/program/Target.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Pipeline.h"
#include "passes/tile/TiledLaunches.h"

using namespace mlir;
using namespace tessera;

/// The number of an op of the module, as part of the location of its copy: what the copy is decomposed into has it too.
using NumberLoc = FusedLocWith<IntegerAttr>;

TiledContractions tessera::contractionsTiledLater(ModuleOp module) {
  IRMapping map;
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone(map)));
  Builder builder(module.getContext());
  SmallVector<Operation *> numbered;
  module.walk([&](Operation *op) {
    if (!isa<ContractOp, AttentionOp>(op)) return;
    auto number = builder.getI64IntegerAttr(static_cast<int64_t>(numbered.size()));
    map.lookup(op)->setLoc(NumberLoc::get({op->getLoc()}, number, module.getContext()));
    numbered.push_back(op);
  });

  PassManager phases(module.getContext());
  addPhases(phases, "chunk", "tile");
  // What fails on the copy will fail on the module, and be reported there.
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  TiledContractions tiled;
  if (failed(phases.run(*copy))) return tiled;
  FailureOr<Target> target = Target::read(module);
  bool isGpu = succeeded(target) && target->isGpu();
  // Contractions that these phases make or replace have no number.
  copy->walk([&](ContractOp contract) {
    auto number = dyn_cast<NumberLoc>(contract.getLoc());
    auto tiledOp = dyn_cast<TiledOp>(contract->getParentOp());
    if (!number || !tiledOp) return;
    TiledMatrix &matrix = tiled[numbered[number.getMetadata().getInt()]];
    std::optional<MatrixAxes> axes = MatrixAxes::of(tiledOp);
    if (!axes) return;
    int64_t rows = axes->rows.getSize(), columns = axes->columns.getSize();
    double share = static_cast<double>(tiledOp.countedElements(rows, columns)) / static_cast<double>(rows * columns);
    int64_t launches = isGpu ? static_cast<int64_t>(launchesOf(tiledOp, *axes).size()) : 1;
    matrix = {axes->rows.getName(), axes->columns.getName(), share, launches};
  });
  return tiled;
}
