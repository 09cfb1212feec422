//===- Arena.h - the memory of a program ----------------------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_ARENA_H
#define TESSERA_RUNTIME_MACHINE_ARENA_H

#include "runtime/machine/MachineMemory.h"
#include "runtime/machine/Threads.h"

#include <cstddef>
#include <optional>

namespace tessera::runtime {

/// Zeroed memory, mapped and touched in the constructor; 4096-byte aligned.
class Arena {
public:
  /// Compares `bytes` with what the machine and the cgroup have available, and with this process's share of it, before
  /// it touches anything. Throws an Error with both figures, and the advice if there is any.
  Arena(int64_t bytes, Threads &threads, const MemoryAdvice &advice = {},
        const std::optional<AvailableMemory> &share = {});
  ~Arena();
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;

  char *base() const { return memory; }
  int64_t size() const { return bytes; }

private:
  char *memory = nullptr;
  int64_t bytes = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_ARENA_H
