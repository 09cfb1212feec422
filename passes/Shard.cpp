//===- Shard.cpp - the driver of `tsr-shard` ------------------------------===//
//
// 1. Read what the user says: axes that are laid along mesh axes, and states with shardings of their own.
// 2. Assign a sharding to every op (sharding/Assignment.h), and record it.
//
//===----------------------------------------------------------------------===//

#include "ir/program/Program.h"
#include "passes/Passes.h"
#include "passes/sharding/Assignment.h"
#include "llvm/ADT/StringSet.h"

namespace tessera {
#define GEN_PASS_DEF_SHARDPASS
#include "passes/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// An error about mesh axes that a sharding names, and that the mesh lacks.
static LogicalResult checkParts(Operation *at, const Sharding &sharding, const ProgramMesh &mesh) {
  for (const Sharding::Part &part : sharding.getParts())
    if (!mesh.has(part.mesh))
      return at->emitError("`") << part.axis << "` is laid along `" << part.mesh << "`, which the mesh lacks";
  return success();
}

/// An error if the mesh has an axis that the program has too.
static LogicalResult checkMesh(ModuleOp module, const ProgramMesh &mesh) {
  auto declared = module->getAttrOfType<ArrayAttr>(attrs::axes);
  llvm::StringSet<> known;
  for (AxisAttr axis : mesh.getAxes()) {
    if (axis.getSize() < 1) return module.emitError("the mesh axis `") << axis.getName() << "` has no ranks";
    if (!known.insert(axis.getName()).second)
      return module.emitError("the mesh has two axes `") << axis.getName() << "`";
    if (declared && llvm::is_contained(names(declared), axis.getName()))
      return module.emitError("the mesh axis `") << axis.getName() << "` is an axis of the program: rename it";
  }
  return success();
}

/// What a state is divided along: its own sharding, with what the rules say of its other axes.
static FailureOr<Sharding> shardingOf(StateOp state, const Assignment &rules, const ProgramMesh &mesh) {
  Sharding own = Sharding::of(state);
  NamedTensorType type = state.getTensorType();
  if (failed(checkParts(state, own, mesh))) return failure();
  for (const Sharding::Part &part : own.getParts()) {
    if (!type.hasAxis(part.axis))
      return state.emitError("`") << state.getPath() << "` has no axis `" << part.axis << "`, but " << type;
    if (own.axisAlong(part.mesh) != part.axis)
      return state.emitError("`") << state.getPath() << "` has both `" << own.axisAlong(part.mesh) << "` and `"
                                  << part.axis << "` laid along `" << part.mesh << "`: a mesh axis divides one axis";
  }
  return own.unitedWith(rules.byRules(type));
}

namespace {
struct ShardPass : tessera::impl::ShardPassBase<ShardPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ProgramMesh mesh = ProgramMesh::of(module);
    if (mesh.getAxes().empty()) return;
    Sharding rules(module->getAttrOfType<DictionaryAttr>(attrs::shard));
    if (failed(checkMesh(module, mesh)) || failed(checkParts(module, rules, mesh))) return signalPassFailure();
    llvm::StringMap<Sharding> ofState;
    Assignment assignment(mesh, rules);
    for (StateOp state : stateTable(module)) {
      FailureOr<Sharding> sharding = shardingOf(state, assignment, mesh);
      if (failed(sharding)) return signalPassFailure();
      state->setAttr(attrs::sharding, sharding->getAttribute(&getContext()));
      ofState[state.getPath()] = std::move(*sharding);
    }
    for (func::FuncOp function : entryFunctions(module)) {
      assignment.assign(function, ofState);
      assignment.record(function);
    }
  }
};
} // namespace
