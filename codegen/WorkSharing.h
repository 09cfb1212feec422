//===- WorkSharing.h - how threads share the iterations of a kernel -------===//

#ifndef TESSERA_CODEGEN_WORKSHARING_H
#define TESSERA_CODEGEN_WORKSHARING_H

#include <cstdint>

namespace tessera {

/// What `TsrRuntime::parallelFor` is called with.
struct WorkSharing {
  int64_t iterations = 0;
  int64_t grain = 1; ///< iterations that a thread takes at least, and a multiple of which each takes
  int64_t piece = 0; ///< iterations worth taking over from a thread that is behind; 0: none are
};

} // namespace tessera

#endif // TESSERA_CODEGEN_WORKSHARING_H
