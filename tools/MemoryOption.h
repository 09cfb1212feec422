//===- MemoryOption.h - the options about memory --------------------------===//

#ifndef TESSERA_TOOLS_MEMORYOPTION_H
#define TESSERA_TOOLS_MEMORYOPTION_H

#include "ir/program/MemorySettings.h"
#include "ir/program/Target.h"

namespace tessera {

/// The values of `--memory`, `--remat`, `--save` and `--recompute`.
struct MemoryOptions {
  std::string memory; ///< `8GiB`, `80%` or `auto`; empty: no budget
  std::string remat;  ///< a mode; empty: what the budget asks for
  std::vector<std::string> saved, recomputed;

  bool isGiven() const { return !memory.empty() || !remat.empty() || !saved.empty() || !recomputed.empty(); }
};

/// What is wrong with a value of `--memory`; empty if nothing is.
std::string checkMemoryText(const std::string &text);

/// Enters the options in a module; without options it keeps what it records, or takes all memory if it searches for a
/// sharding. `device` is the one that a budget in
/// percent, or `auto`, is of; a CPU that the user has not named is this machine. Returns a problem, or an empty string.
std::string setMemory(mlir::ModuleOp module, const MemoryOptions &options, const Target &device, bool isNamed);

} // namespace tessera

#endif // TESSERA_TOOLS_MEMORYOPTION_H
