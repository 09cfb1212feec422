//===- Report.h - what the compiler decided, as a page --------------------===//

#ifndef TESSERA_TOOLS_REPORT_H
#define TESSERA_TOOLS_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace tessera {

/// Collects the decisions of the phases and writes them as one self-contained HTML page.
class Report {
public:
  /// Must be called after each phase.
  void note(llvm::StringRef phase, mlir::ModuleOp module);

  /// Writes the page. Returns an error message, or an empty string.
  std::string write(const std::string &path) const;

private:
  std::string model, precision;
};

} // namespace tessera

#endif // TESSERA_TOOLS_REPORT_H
