//===- Largest.h - the largest batch or sequence that fits a device -------===//

#ifndef TESSERA_TOOLS_LARGEST_H
#define TESSERA_TOOLS_LARGEST_H

#include "runtime/base/Json.h"
#include "tools/SizeSetting.h"

namespace tessera {

/// The largest size of an axis of the data that fits, and the next larger one.
struct Largest {
  SizeSetting setting;
  int64_t size = 0;                  ///< 0: none that was tried fits
  Trial at, beyond;                  ///< at that size, and at the next one
  std::vector<std::string> warnings; ///< of the data, at that size

  TrialOptions options() const { return setting.with(size); }
  int64_t next() const { return size + setting.unit; }
};

Largest findLargest(Trials &trials, const SizeSetting &setting);

/// Without `fits`, why not.
std::string describeLargest(const Largest &largest, const PlannedDevice &device);
runtime::Json largestAsJson(const Largest &largest, const PlannedDevice &device);

} // namespace tessera

#endif // TESSERA_TOOLS_LARGEST_H
