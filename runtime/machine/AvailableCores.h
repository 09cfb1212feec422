//===- AvailableCores.h - the processors this process may use -------------===//

#ifndef TESSERA_RUNTIME_MACHINE_AVAILABLECORES_H
#define TESSERA_RUNTIME_MACHINE_AVAILABLECORES_H

#include <algorithm>
#include <sched.h>

namespace tessera::runtime {

/// The processors this process may use, at least 1. The compiler takes the same number as the default for a program.
inline int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_AVAILABLECORES_H
