//===- Hash.h - the hash of checkpoints -----------------------------------===//

#ifndef TESSERA_RUNTIME_BASE_HASH_H
#define TESSERA_RUNTIME_BASE_HASH_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime {

/// XXH64 with seed 0: about 10 GB/s, faster than any disk.
uint64_t hashXxh64(const void *bytes, size_t size);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_BASE_HASH_H
