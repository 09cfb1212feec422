//===- Permutation.h - a permutation that is computed, not stored ---------===//

#ifndef TESSERA_RUNTIME_DATA_PERMUTATION_H
#define TESSERA_RUNTIME_DATA_PERMUTATION_H

#include <cstdint>

namespace tessera::runtime {

/// A permutation of [0, size), keyed by seed and epoch: a four-round Feistel network over the next even power of two,
/// with cycle walking. It takes no memory; any position is computed in constant expected time.
class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed, uint64_t epoch);
  /// The index at position `position` < size.
  uint64_t operator()(uint64_t position) const;

private:
  uint64_t size, halfBits, mask;
  uint64_t keys[4];
};

/// Mixes 64 bits (the finaliser of splitmix64).
uint64_t mix64(uint64_t value);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DATA_PERMUTATION_H
