//===- PredictBatch.cpp - the batch of `predict` in the memory of a step --===//

#include "tools/PredictBatch.h"
#include "ir/program/MemorySettings.h"
#include "ir/program/Program.h"
#include "ir/program/ShardSettings.h"
#include "passes/Pipeline.h"
#include "passes/memory/BatchSearch.h"
#include "passes/memory/BufferList.h"
#include "passes/memory/PlanStorage.h"
#include "passes/sharding/search/ShardingSearch.h"

using namespace mlir;
using namespace tessera;

/// The rows of a batch of `predict`; 0 without such an entry function.
static int64_t predictRows(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("predict");
  for (unsigned i = 0; function && i < function.getNumResults(); ++i) {
    auto output = function.getResultAttrOfType<DictionaryAttr>(i, attrs::output);
    auto role = output ? output.getAs<StringAttr>("role") : StringAttr();
    if (role && role.getValue() == "result") // its rows are outermost
      return cast<NamedTensorType>(function.getResultTypes()[i]).getAxes().front().getSize();
  }
  return 0;
}

/// What `predict` of the model takes with so many rows, beside state. Without the other entry functions: what is stored
/// in each of them does not depend on the others, which share its state only.
static std::optional<int64_t> planPredict(ModuleOp module, const CommandOptions &options, int64_t rows,
                                          SearchMemory &searches) {
  MLIRContext &context = *module.getContext();
  CommandOptions trial = options;
  trial.input.predictRows = rows;
  Input input = readForTarget(context, trial);
  if (!input.module) return std::nullopt;
  // The user's words about ranks may be about axes and states that only the step has.
  ScopedDiagnosticHandler silent(&context, [](mlir::Diagnostic &) { return success(); });
  PipelineOptions first;
  first.compileTo = "localize", first.searches = &searches;
  for (StringRef name : {attrs::searchMemory, searchWithoutAttr})
    setOrRemoveAttr(*input.module, name, module->getAttr(name));
  const ShardSettings ranks = ShardSettings::of(*input.module); // the step decides what is found for --devices
  if ((!ranks.mesh.empty() || ranks.devices > 1) && failed(runPipeline(*input.module, first))) return std::nullopt;
  for (func::FuncOp function : entryFunctions(*input.module))
    if (function.getName() != "predict") function.erase();
  MemorySettings().record(*input.module); // it recomputes nothing
  if (failed(runPipeline(*input.module, {}))) return std::nullopt;
  return plannedBytes(*input.module, "predict") - stateBytes(*input.module);
}

std::optional<int64_t> tessera::smallerPredictBatch(ModuleOp module, const CommandOptions &options, PredictBytes &known,
                                                    SearchMemory &searches) {
  int64_t rows = predictRows(module), limit = plannedBytes(module, "step"), state = stateBytes(module);
  BatchMemory planned{rows, plannedBytes(module, "predict")};
  if (rows <= 1 || planned.bytes <= limit) return std::nullopt;
  auto bytesWith = [&](int64_t fewer) -> std::optional<int64_t> {
    auto [bytes, isNew] = known.try_emplace(fewer);
    if (isNew) bytes->second = planPredict(module, options, fewer, searches);
    return bytes->second ? std::optional(state + *bytes->second) : std::nullopt;
  };
  return std::max<int64_t>(1, largestBatch({0, 0}, planned, limit, bytesWith));
}
