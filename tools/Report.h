//===- Report.h - what the compiler decided, as a page --------------------===//

#ifndef TESSERA_TOOLS_REPORT_H
#define TESSERA_TOOLS_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// Gathers what the phases decided, and writes it as one HTML page that needs nothing else.
class Report {
public:
  /// To be called after each phase.
  void note(llvm::StringRef phase, mlir::ModuleOp module);

  /// Writes the page; what went wrong, or empty.
  std::string write(const std::string &path) const;

private:
  std::string model, precision;
};

} // namespace tessera

#endif // TESSERA_TOOLS_REPORT_H
