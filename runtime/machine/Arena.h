//===- Arena.h - the one block of memory a program takes ----------------------===//

#ifndef TESSERA_RUNTIME_ARENA_H
#define TESSERA_RUNTIME_ARENA_H

#include "runtime/base/Threads.h"

#include <cstddef>

namespace tessera::runtime {

/// Zeroed memory, taken from the system and touched in its constructor; 4096-byte aligned.
class Arena {
public:
  /// Checks `bytes` against what the machine and the cgroup have left before
  /// touching anything. Throws an Error with both figures.
  Arena(int64_t bytes, Threads &threads);
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

#endif // TESSERA_RUNTIME_ARENA_H
