//===- WorkSharing.h - how threads share the iterations of a kernel -------===//

#ifndef TESSERA_CODEGEN_WORKSHARING_H
#define TESSERA_CODEGEN_WORKSHARING_H

#include <cstdint>

namespace tessera {

/// What `TsrRuntime::parallelFor` is called with, but for addresses.
struct WorkSharing {
  int64_t iterations = 0;
  int64_t grain = 1;        ///< the fewest iterations of a thread; ranges are multiples of it
  int64_t stealGrain = 0;   ///< the fewest iterations that an idle thread steals; 0: no work stealing
  int64_t scratchBytes = 0; ///< scratch memory of a thread; a multiple of `bufferAlignment`
};

} // namespace tessera

#endif // TESSERA_CODEGEN_WORKSHARING_H
