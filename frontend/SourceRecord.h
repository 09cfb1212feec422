//===- SourceRecord.h - what a module was made from -------------------------===//

#ifndef TESSERA_FRONTEND_SOURCERECORD_H
#define TESSERA_FRONTEND_SOURCERECORD_H

#include "frontend/diagnostics/Diagnostics.h"
#include "frontend/elaborate/FrontendOptions.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace tessera {

/// The options that change the model, and the numbered lines of its files without comments: {options = ["--set lr=1"],
/// files = [{name = "m.tsr", lines = ["3 stop(10)"]}]}. So a run that resumes can say what was edited. `diagnostics`
/// owns the files, and has no errors.
mlir::DictionaryAttr recordSource(mlir::MLIRContext &context, const FrontendOptions &options,
                                  DiagnosticEngine &diagnostics);

} // namespace tessera

#endif // TESSERA_FRONTEND_SOURCERECORD_H
