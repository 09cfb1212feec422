//===- MachineLimits.h - the peak rates of this machine -------------------===//

#ifndef TESSERA_RUNTIME_MACHINE_MACHINELIMITS_H
#define TESSERA_RUNTIME_MACHINE_MACHINELIMITS_H

#include "runtime/machine/Threads.h"

#include <optional>

namespace tessera::runtime {

/// What all threads together reach: a profile is compared with it.
struct MachineLimits {
  double flops = 0;     ///< operations a second in f32: two for each multiply-add
  double copyBytes = 0; ///< bytes a second, read and written, of copies that no cache holds
};

/// Measures for about half a second. None if there is no memory for that. `bench/machine_limits.cpp` measures the same.
std::optional<MachineLimits> measureLimits(Threads &pool);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_MACHINE_MACHINELIMITS_H
