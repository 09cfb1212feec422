//===- CallCounts.h - how often the parts of a program are called ---------===//

#ifndef TESSERA_CODEGEN_PROGRAM_CALLCOUNTS_H
#define TESSERA_CODEGEN_PROGRAM_CALLCOUNTS_H

#include "ir/dialect/Attributes.h"
#include "llvm/ADT/MapVector.h"

namespace tessera {

/// Calls at one place of an entry function.
struct CallSite {
  llvm::StringRef function;
  int64_t runs = 1;
  StepPass pass = StepPass::Forward;
};

/// How often something is called.
struct CallCounts {
  llvm::MapVector<llvm::StringRef, int64_t> entries; ///< by each entry function
  llvm::MapVector<llvm::StringRef, int64_t> passes;  ///< in each pass of `step`

  void add(const CallSite &site) {
    entries[site.function] += site.runs;
    if (site.function == "step") passes[stringifyStepPass(site.pass)] += site.runs;
  }
};

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_CALLCOUNTS_H
