//===- IndexRange.h - a range of indices in generated code ----------------===//

#ifndef TESSERA_CODEGEN_CPU_CONTRACTION_INDEXRANGE_H
#define TESSERA_CODEGEN_CPU_CONTRACTION_INDEXRANGE_H

#include "codegen/cpu/builder/CodeBuilder.h"

namespace tessera {

/// Rows or columns [from, to), known when the program runs.
struct IndexRange {
  mlir::Value from, to;

  mlir::Value length(CodeBuilder &code) const { return code.sub(to, from); }
};

} // namespace tessera

#endif // TESSERA_CODEGEN_CPU_CONTRACTION_INDEXRANGE_H
