//===- PlannedModel.h - models after the phases, for tests of the plan ----===//

#ifndef TESSERA_TESTS_PASSES_MEMORY_PLANNEDMODEL_H
#define TESSERA_TESTS_PASSES_MEMORY_PLANNEDMODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>

namespace tessera::test {

/// What a model is compiled for.
struct PlanOptions {
  std::string device = "x86"; ///< or "h100"
  std::string compute;        ///< as in `compute(…)`; empty: what the model says
  std::function<void(llvm::StringRef phase, mlir::ModuleOp module)> afterPhase;
};

/// The names of the model files in examples/.
std::vector<std::string> exampleNames();

/// The scheduled module of an example, or of the text of a model. Null, with messages, where that fails.
mlir::OwningOpRef<mlir::ModuleOp> planExample(mlir::MLIRContext &context, llvm::StringRef name,
                                              const PlanOptions &options);
mlir::OwningOpRef<mlir::ModuleOp> planText(mlir::MLIRContext &context, llvm::StringRef text,
                                           const PlanOptions &options);

/// A model with repeated layers, dropout, a state and a schedule of the learning rate, trained in micro-batches.
extern const char *const layeredModel;

} // namespace tessera::test

#endif // TESSERA_TESTS_PASSES_MEMORY_PLANNEDMODEL_H
