//===- CpuTarget.cpp - generated CPU code as a target ---------------------===//

#include "tests/random/CpuTarget.h"
#include "codegen/host/Program.h"
#include "ir/Program.h"
#include "runtime/Program.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::test;

/// Calls `visit` with a null pointer of the C type that holds elements of `type`.
template <typename Fn> static void withElement(Type type, Fn visit) {
  if (type.isF32()) return visit(static_cast<float *>(nullptr));
  if (type.isF64()) return visit(static_cast<double *>(nullptr));
  if (type.isInteger(32)) return visit(static_cast<int32_t *>(nullptr));
  if (type.isInteger(64)) return visit(static_cast<int64_t *>(nullptr));
  visit(static_cast<int8_t *>(nullptr));
}

static void store(const TensorValue &value, NamedTensorType memory, char *address) {
  TensorValue ordered = value.reordered(memory);
  withElement(memory.getElementType(), [&]<typename T>(T *) {
    for (size_t i = 0; i < ordered.data.size(); ++i)
      reinterpret_cast<T *>(address)[i] = static_cast<T>(ordered.data[i]);
  });
}

static TensorValue fetch(NamedTensorType memory, const char *address) {
  TensorValue value(memory);
  withElement(memory.getElementType(), [&]<typename T>(T *) {
    for (size_t i = 0; i < value.data.size(); ++i)
      value.data[i] = static_cast<double>(reinterpret_cast<const T *>(address)[i]);
  });
  return value;
}

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
    store(it->second, tensorType(function.getArgument(i)), program->at(place.getOffset()));
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
        fetch(cast<NamedTensorType>(function.getResultTypes()[i]), program->at(place.getOffset()));
  }
  return results;
}
