//===- PhaseWarnings.cpp - warnings of phases ------------------------------===//

#include "tools/PhaseWarnings.h"
#include "ir/program/Program.h"
#include "tools/Messages.h"

using namespace tessera;

/// The code that a phase gives by its name.
static DiagnosticCode codeOf(mlir::Diagnostic &warning) {
  for (mlir::DiagnosticArgument &part : warning.getMetadata()) {
    bool isName = part.getKind() == mlir::DiagnosticArgument::DiagnosticArgumentKind::String;
    if (const DiagnosticCodeInfo *info = isName ? findDiagnosticCode(part.getAsString()) : nullptr)
      return static_cast<DiagnosticCode>(info - allDiagnosticCodes().data());
  }
  return DiagnosticCode::E0901;
}

void tessera::printPhaseWarning(mlir::Diagnostic &warning, const DiagnosticEngine *model, bool asJson) {
  static const SourceFiles none;
  const SourceFiles &sources = model ? model->sources() : none;
  Diagnostic message{Severity::Warning, codeOf(warning), warning.str(), {}, {}, {}};
  if (mlir::FileLineColLoc place = userPlace(warning.getLocation())) {
    if (auto span = sources.find(place.getFilename().getValue(), {place.getLine(), place.getColumn()}))
      message.labels.push_back({*span, ""});
    else
      message.notes.push_back({"this is at " + userLine(place), std::nullopt});
  }
  for (const mlir::Diagnostic &note : warning.getNotes()) message.helps.push_back(note.str());
  if (asJson)
    printDiagnosticJson(message, sources, llvm::errs()), llvm::errs() << "\n";
  else
    printDiagnostic(message, sources, messages()), messages() << "\n";
}
