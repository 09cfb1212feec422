//===- GemmTable.h - the contractions that a library computes -------------===//

#ifndef TESSERA_CODEGEN_HOST_GEMMTABLE_H
#define TESSERA_CODEGEN_HOST_GEMMTABLE_H

#include "codegen/Backend.h"

namespace tessera {

/// A contraction as a call: entry `index` of the table on operands a and b.
struct GemmCall {
  uint32_t index;
  mlir::Value a, b;
};

/// The manifest's list of contractions: equal descriptions share an entry.
class GemmTable {
public:
  struct Entry {
    std::string name;
    std::string line; ///< of the model; empty if there is none
    ContractionGemm description;
    int64_t scratchBytes = 0;   ///< workspace the library asked for
    std::string implementation; ///< the library's name for what it will run
  };

  /// `threads`: as many as the program will run with; the workspace of a library on the host depends on it.
  GemmTable(ContractionLibrary library, int threads) : library(library), threads(threads) {}

  /// Enters a contraction; an error on the op if the library cannot take it.
  llvm::FailureOr<GemmCall> add(ContractOp op, ContractionGemm description);

  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  /// Bytes of workspace that the largest entry needs.
  int64_t workspaceBytes() const;

private:
  ContractionLibrary library;
  int threads;
  std::vector<Entry> entries;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_HOST_GEMMTABLE_H
