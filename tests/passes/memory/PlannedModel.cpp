//===- PlannedModel.cpp - models after the phases, for tests of the plan --===//

#include "tests/passes/memory/PlannedModel.h"
#include "frontend/Frontend.h"
#include "ir/dialect/Tsr.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "tests/differential/RandomGraph.h"
#include <filesystem>

using namespace mlir;
using namespace tessera;

const char *const test::layeredModel = R"(
use nn: relu, dropout
dim batch, feature = 16, hidden = 32, layer = 3

fn block(x[batch, feature]) {
  weight up [feature, hidden] = normal(0.3)
  bias shift [hidden]
  weight down [hidden, feature] = normal(0.3)
  x + sum[hidden](dropout(relu(sum[feature](x * up) + shift), 0.1) * down)
}

model m(x[batch, feature]) -> [batch, feature] {
  state seen [] = 0
  seen := seen + 1
  repeat[layer](y = x) { h: block(y) }
}

train m {
  data d = csv(train = "none", batch = 8, x = float[feature](column = 0), y = float[feature](column = 16))
  let out = m(d.x)
  loss mse = mean[batch, feature]((out - d.y)^2)
  metric worst = max[batch, feature](abs(out - d.y))
  optimize adamw(lr = 0.1 / (1 + step / 10), decay = 0.1) on **
  clip(1.0)
  accumulate(2)
  stop(after = 10)
}
)";

std::vector<std::string> test::exampleNames() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(std::string(TESSERA_SOURCE_DIR) + "/examples"))
    if (entry.path().extension() == ".tsr") names.push_back(entry.path().filename());
  llvm::sort(names);
  return names;
}

static OwningOpRef<ModuleOp> plan(OwningOpRef<ModuleOp> module, const test::PlanOptions &options) {
  if (!module) return {};
  Target::named(options.device)->record(*module);
  test::setCompute(*module, options.compute);
  PipelineOptions pipeline;
  pipeline.afterPhase = options.afterPhase;
  if (failed(runPipeline(*module, pipeline))) return {};
  return module;
}

OwningOpRef<ModuleOp> test::planExample(MLIRContext &context, StringRef name, const PlanOptions &options) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  tessera::DiagnosticEngine diagnostics;
  auto module = compileModel(context, (TESSERA_SOURCE_DIR "/examples/" + name).str(), FrontendOptions(), diagnostics);
  if (!module) diagnostics.printText(llvm::errs());
  return plan(std::move(module), options);
}

OwningOpRef<ModuleOp> test::planText(MLIRContext &context, StringRef text, const PlanOptions &options) {
  context.loadDialect<TsrDialect, func::FuncDialect>();
  tessera::DiagnosticEngine diagnostics;
  auto module = compileModelText(context, text.str(), "<model>", {}, diagnostics);
  if (!module) diagnostics.printText(llvm::errs());
  return plan(std::move(module), options);
}
