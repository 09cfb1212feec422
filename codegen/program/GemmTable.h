//===- GemmTable.h - the contractions that a library computes -------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_GEMMTABLE_H
#define TESSERA_CODEGEN_PROGRAM_GEMMTABLE_H

#include "codegen/Backend.h"
#include "codegen/program/CallCounts.h"
#include "passes/gemm/AlignedParts.h"
#include <array>

namespace tessera {

/// A call that computes a contraction, or a part of it: entry `index` of the table.
struct GemmCall {
  uint32_t index;
  GemmPart part;
};

/// The manifest's list of contractions: equal descriptions share an entry.
class GemmTable {
public:
  struct Entry {
    std::string name;
    std::string of;   ///< what the first call computes (passes/analysis/ValueNames.h)
    std::string line; ///< of the model; empty if there is none
    ContractionGemm description;
    bool isPart = false;        ///< a later call completes the contraction
    std::string unaligned;      ///< why rows are not aligned as the library prefers; empty if they are
    int64_t scratchBytes = 0;   ///< workspace that the library needs
    std::string implementation; ///< as the library names it
    /// Of the addresses of c, `aux` and the bias in all calls, in bytes, if there is an epilogue. 0: there is none.
    std::array<int64_t, 3> alignments{};
    /// The number of the kernel that computes the epilogue if the library cannot.
    std::optional<uint32_t> epilogueKernel;
    CallCounts calls;
  };

  /// `threads`: with which the program will run. The workspace of a library on the host depends on them.
  GemmTable(ContractionLibrary library, int threads) : library(library), threads(threads) {}

  /// Enters the calls that compute a contraction, in their order; it computes `of`. Fails with a message on the op if
  /// the library cannot compute it.
  llvm::FailureOr<std::vector<GemmCall>> add(ContractOp op, ContractionGemm description, const std::string &of,
                                                   const CallSite &site);

  /// Enters the alignments of c, `aux` and the bias in a call of an entry with an epilogue.
  void addAlignments(uint32_t entry, std::array<int64_t, 3> alignments);

  /// Whether the contractions are computed on another device than the host.
  bool isOnDevice() const { return library.isOnDevice; }

  llvm::ArrayRef<Entry> getEntries() const { return entries; }
  llvm::MutableArrayRef<Entry> getEntries() { return entries; }
  /// Bytes of workspace that the largest entry needs.
  int64_t workspaceBytes() const;

private:
  llvm::FailureOr<uint32_t> add(ContractOp op, const ContractionGemm &description, bool isPart, const std::string &of,
                                const CallSite &site);

  ContractionLibrary library;
  int threads;
  std::vector<Entry> entries;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_GEMMTABLE_H
