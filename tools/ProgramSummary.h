//===- ProgramSummary.h - facts about a compiled program ------------------===//

#ifndef TESSERA_TOOLS_PROGRAMSUMMARY_H
#define TESSERA_TOOLS_PROGRAMSUMMARY_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace tessera {

/// What `compile` says about a program.
struct ProgramSummary {
  std::string target, instructionSets;
  double arenaMiB = 0;
  std::string mesh; ///< "data=2,tensor=4"; empty: one rank
  int64_t ranks = 1;
};

/// Reads them from the manifest, as the program does.
ProgramSummary summarize(llvm::StringRef manifest);

} // namespace tessera

#endif // TESSERA_TOOLS_PROGRAMSUMMARY_H
