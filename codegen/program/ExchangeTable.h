//===- ExchangeTable.h - what a program exchanges with other ranks --------===//

#ifndef TESSERA_CODEGEN_PROGRAM_EXCHANGETABLE_H
#define TESSERA_CODEGEN_PROGRAM_EXCHANGETABLE_H

#include "codegen/program/CallCounts.h"
#include "ir/dialect/Tsr.h"
#include "llvm/ADT/DenseMap.h"

namespace tessera {

/// The manifest's list of exchanges: an entry for each `tsr.start`, since several may be under way at a time.
class ExchangeTable {
public:
  struct Entry {
    std::string of;   ///< what is sent (passes/analysis/ValueNames.h)
    std::string line; ///< of the model; empty if there is none
    ExchangeKind kind;
    mlir::Type element;
    std::string along; ///< the mesh axis
    int64_t ranks;
    int64_t bytes; ///< that go to each rank
    CallCounts calls;
  };

  uint32_t add(StartOp op, std::string of, std::string line, const CallSite &site) {
    Entry entry{std::move(of),       std::move(line), op.getKind(),    op.getType().getElementType(),
                op.getAlong().str(), op.countRanks(), op.countBytes(), {}};
    entry.calls.add(site);
    entries.push_back(std::move(entry));
    return numbers[op] = entries.size() - 1;
  }
  bool has(StartOp op) const { return numbers.contains(op); }
  /// Of a start that was added.
  uint32_t numberOf(StartOp op) const { return numbers.lookup(op); }
  llvm::ArrayRef<Entry> getEntries() const { return entries; }

private:
  std::vector<Entry> entries;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
};

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_EXCHANGETABLE_H
