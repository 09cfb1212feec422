//===- CpuRunner.cpp - runs generated CPU code ---------------------===//

#include "tests/differential/CpuRunner.h"
#include "codegen/program/Program.h"
#include "ir/program/Program.h"
#include "runtime/machine/LoadedProgram.h"
#include "tests/support/TensorBytes.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

CpuRunner::CpuRunner(int threads) : threads(threads) {}
CpuRunner::~CpuRunner() = default;

LogicalResult CpuRunner::load(ModuleOp scheduled) {
  module = scheduled;
  CodegenOptions options;
  options.threads = threads;
  FailureOr<CompiledProgram> compiled = generateProgram(module, options);
  if (failed(compiled)) return failure();
  try {
    program = std::make_unique<runtime::LoadedProgram>(runtime::Payload{compiled->object, compiled->manifest});
    program->start(threads);
  } catch (const std::exception &error) {
    return module.emitError(error.what());
  }
  return success();
}

FailureOr<Values> CpuRunner::run(StringRef entry, const Values &values) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  auto arena = [&](int64_t offset) { return program->at(offset); };
  if (failed(storeArguments(function, values, arena))) return failure();
  try {
    program->call(entry.str());
  } catch (const std::exception &error) {
    return function.emitError(error.what());
  }
  return fetchResults(function, arena);
}
