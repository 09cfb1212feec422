//===- MachineMemory.h - the memory available to this process -------------===//

#ifndef TESSERA_RUNTIME_MACHINE_MACHINEMEMORY_H
#define TESSERA_RUNTIME_MACHINE_MACHINEMEMORY_H

#include <cstdint>
#include <functional>
#include <string>

namespace tessera::runtime {

/// Bytes that this process may still allocate, and what limits it.
struct AvailableMemory {
  int64_t bytes = 0;
  std::string limit; ///< "the machine", "the cgroup /sys/fs/cgroup/...", "the limit on data (ulimit -d)"
};

/// What to do about a program that needs more than the `available` bytes, as the end of a message: "compile with …".
using MemoryAdvice = std::function<std::string(int64_t available)>;

AvailableMemory availableMemory();
/// The same as if nothing were in use: all memory of the machine, or what its cgroup or a limit of the process allows.
AvailableMemory totalMemory();

/// Bytes of the anonymous pages of this process; 0 if the system does not say.
int64_t anonymousMemory();

/// "1.5 GiB", "312.0 MiB", "17 B".
std::string formatBytes(int64_t bytes);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_MACHINEMEMORY_H
