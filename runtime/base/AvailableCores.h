//===- AvailableCores.h - the processors this process may use -----------------===//

#ifndef TESSERA_RUNTIME_AVAILABLECORES_H
#define TESSERA_RUNTIME_AVAILABLECORES_H

#include <algorithm>
#include <sched.h>

namespace tessera::runtime {

/// The processors this process may use, at least 1. The compiler plans for as many as the program will find.
inline int availableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_AVAILABLECORES_H
