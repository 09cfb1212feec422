//===- PhaseWarnings.h - warnings of phases, as the frontend gives its own ===//

#ifndef TESSERA_TOOLS_PHASEWARNINGS_H
#define TESSERA_TOOLS_PHASEWARNINGS_H

#include "frontend/diagnostics/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"

namespace tessera {

/// Prints a warning of a phase on standard error, as text or as one line of JSON. Its metadata are the name of its code
/// (DiagnosticCodes.def), its notes are what to do. It points into the model that `model` has read; without that, for a
/// module, a note names the line.
void printPhaseWarning(mlir::Diagnostic &warning, const DiagnosticEngine *model, bool asJson);

} // namespace tessera

#endif // TESSERA_TOOLS_PHASEWARNINGS_H
