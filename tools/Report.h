//===- Report.h - a program as a page -------------------------------------===//
//
// One self-contained HTML page: what memory a program takes and when, what its kernels and lines cost, and where values
// are rounded. Everything that the page says of a program is in one JSON object inside of it; the scripts of
// tools/report/ show that.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_REPORT_H
#define TESSERA_TOOLS_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tessera {

class SourceFiles;
struct ProgramPlan;

/// Collects what the page says, and writes it. All parts are optional but for the notes.
class Report {
public:
  /// Must be called after each phase.
  void note(llvm::StringRef phase, mlir::ModuleOp module);
  /// The program, by its manifest, and what a run of it takes.
  void describe(const std::string &manifest, const ProgramPlan &plan);
  /// The files of the model; without them the page has the lines of the manifest.
  void addTexts(const SourceFiles &sources);

  /// Returns an error message, or an empty string.
  std::string write(const std::string &path) const;

private:
  std::string asJson() const;

  /// A file by the name that lines of the model have.
  struct ModelText {
    std::string name;
    std::vector<std::string> lines;
  };

  std::string model;
  std::string precision, manifest, plan; ///< JSON; empty: not known
  std::vector<ModelText> texts;
};

} // namespace tessera

#endif // TESSERA_TOOLS_REPORT_H
