//===- Permutation.h - a shuffle that is computed, not stored -----------------===//

#ifndef TESSERA_RUNTIME_DATA_PERMUTATION_H
#define TESSERA_RUNTIME_DATA_PERMUTATION_H

#include <cstdint>

namespace tessera::runtime {

/// A permutation of [0, size), keyed by seed and epoch: a four-round Feistel
/// network over the next even power of two, walked until it lands inside.
/// Uses no memory and no state: any position is found at once.
class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch);
  /// The index at position `position` < size.
  uint64_t operator()(uint64_t position) const;

private:
  uint64_t size, halfBits, mask;
  uint64_t keys[4];
};

/// A good mix of 64 bits (splitmix64's finaliser).
uint64_t mix64(uint64_t value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_PERMUTATION_H
