//===- VerifyExchanges.cpp - what ranks exchange fits the mesh ------------===//

#include "passes/sharding/VerifyExchanges.h"
#include "ir/program/ProgramMesh.h"

using namespace mlir;
using namespace tessera;

static LogicalResult verifyExchange(StartOp start, const ProgramMesh &mesh) {
  StringRef along = start.getAlong();
  if (!mesh.has(along)) return start.emitOpError("is along `") << along << "`, which is no axis of the mesh";
  int64_t size = start.countRanks(), ranks = mesh.size(along);
  if (size != ranks)
    return start.emitOpError("has ") << size << " positions along `" << along << "`, and the mesh has " << ranks
                                     << " ranks";
  if (!start.getResult().hasOneUse() || !isa<WaitOp>(*start.getResult().user_begin()))
    return start.emitOpError("must be read by one tsr.wait, and by nothing else");
  return success();
}

LogicalResult tessera::verifyExchanges(ModuleOp module) {
  ProgramMesh mesh = ProgramMesh::of(module);
  WalkResult result = module.walk([&](StartOp start) {
    return failed(verifyExchange(start, mesh)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
