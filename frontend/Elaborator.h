//===- Elaborator.h - from a parsed program to its module -------------------===//

#ifndef TESSERA_FRONTEND_ELABORATOR_H
#define TESSERA_FRONTEND_ELABORATOR_H

#include "frontend/training/EntryFunctions.h"

namespace tessera {

class NameCheck;

/// Checks a program and builds its module: hypers, settings, data, then the entry functions.
class Elaborator {
public:
  Elaborator(mlir::MLIRContext &context, const Declarations &program, const FrontendOptions &options,
             DiagnosticEngine &diagnostics);

  /// Builds the module; null after errors.
  mlir::OwningOpRef<mlir::ModuleOp> run();

private:
  void buildEntries();
  bool checkDescription();
  void checkModelAlone(NameCheck &nameCheck);
  void reportUnusedOverrides();
  void addStateTable();
  bool verify();

  const Declarations &declared;
  const FrontendOptions &options;
  DiagnosticEngine &diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  GraphBuilder builder;
  ElaborationInputs inputs;
  Elaboration state;
  SettingOverrides overrides;
  TrainingSettings settings;
  DataSources data;
  TrainingScope training;
  EntryFunctions entries;
};

} // namespace tessera

#endif // TESSERA_FRONTEND_ELABORATOR_H
