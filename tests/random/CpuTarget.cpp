//===- CpuTarget.cpp - generated CPU code as a target ---------------------===//

#include "tests/random/CpuTarget.h"
#include "codegen/host/Program.h"
#include "ir/Program.h"
#include "runtime/Program.h"
#include "tests/support/TensorBytes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

CpuTarget::CpuTarget(int threads) : threads(threads) {}
CpuTarget::~CpuTarget() = default;

LogicalResult CpuTarget::load(ModuleOp scheduled) {
  module = scheduled;
  CodegenOptions options;
  options.threads = threads;
  FailureOr<CompiledProgram> compiled = generateProgram(module, options);
  if (failed(compiled)) return failure();
  try {
    program = std::make_unique<runtime::Program>(runtime::Payload{compiled->object, compiled->manifest});
    program->start(threads);
  } catch (const std::exception &error) {
    return module.emitError(error.what());
  }
  return success();
}

FailureOr<Values> CpuTarget::run(StringRef entry, const Values &values) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto it = values.find(argumentName(function, i));
    if (it == values.end()) return function.emitError("no value for argument ") << argumentName(function, i);
    auto place = function.getArgAttrOfType<PlaceAttr>(i, attrs::place);
    storeTensor(it->second, tensorType(function.getArgument(i)), program->at(place.getOffset()));
  }
  try {
    program->call(entry.str());
  } catch (const std::exception &error) {
    return function.emitError(error.what());
  }
  Values results;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto place = function.getResultAttrOfType<PlaceAttr>(i, attrs::place);
    results[resultName(function, i)] =
        fetchTensor(cast<NamedTensorType>(function.getResultTypes()[i]), program->at(place.getOffset()));
  }
  return results;
}
