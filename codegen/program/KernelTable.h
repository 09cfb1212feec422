//===- KernelTable.h - the distinct kernels of a program ------------------===//

#ifndef TESSERA_CODEGEN_PROGRAM_KERNELTABLE_H
#define TESSERA_CODEGEN_PROGRAM_KERNELTABLE_H

#include "codegen/Backend.h"
#include "codegen/program/CallCounts.h"
#include "passes/cost/KernelWork.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace tessera {

/// Where a kernel comes from, for a person.
struct KernelOrigin {
  std::string of;   ///< what it computes (passes/analysis/ValueNames.h)
  std::string line; ///< of the model; may be empty
};

/// The manifest's list of kernels.
class KernelTable {
public:
  struct Entry {
    EmittedKernel kernel;
    KernelWork work;     ///< of one call
    KernelOrigin origin; ///< of the first call
    CallCounts calls;
    bool isPart = false; ///< a later launch completes the op
  };

  /// Enters a kernel; returns its number.
  uint32_t add(const EmittedKernel &kernel, const KernelWork &work, const KernelOrigin &origin, bool isPart = false) {
    auto [number, isNew] = numbers.try_emplace(kernel.symbol, entries.size());
    if (isNew) entries.push_back({kernel, work, origin, {}, isPart});
    return number->second;
  }
  /// The same with calls at a place.
  uint32_t add(const EmittedKernel &kernel, const KernelWork &work, const KernelOrigin &origin, const CallSite &site,
               bool isPart = false) {
    uint32_t number = add(kernel, work, origin, isPart);
    entries[number].calls.add(site);
    return number;
  }

  llvm::ArrayRef<Entry> getEntries() const { return entries; }

private:
  std::vector<Entry> entries;
  llvm::StringMap<uint32_t> numbers; ///< by symbol
};

} // namespace tessera

#endif // TESSERA_CODEGEN_PROGRAM_KERNELTABLE_H
