//===- Hash.h - the hash that guards checkpoints ------------------------------===//

#ifndef TESSERA_RUNTIME_CHECKPOINT_HASH_H
#define TESSERA_RUNTIME_CHECKPOINT_HASH_H

#include <cstddef>
#include <cstdint>

namespace tessera::runtime {

/// XXH64 with seed 0: about 10 GB/s, so that hashing costs less than writing.
uint64_t hashXxh64(const void *bytes, size_t size);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_CHECKPOINT_HASH_H
