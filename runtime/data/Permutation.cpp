//===- Permutation.cpp - a permutation that is computed, not stored -------===//

#include "runtime/data/Permutation.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::runtime {

uint64_t mix64(uint64_t value) {
  value += 0x9e3779b97f4a7c15ull;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t epoch) : size(size) {
  uint64_t bits = size > 1 ? std::bit_width(size - 1) : 1;
  halfBits = std::max<uint64_t>(1, (bits + 1) / 2);
  mask = (uint64_t(1) << halfBits) - 1;
  for (uint64_t round = 0; round < 4; ++round) keys[round] = mix64(mix64(seed) ^ mix64(epoch * 4 + round));
}

uint64_t Permutation::operator()(uint64_t position) const {
  // From a position outside, the cycle walk might never end.
  assert(position < size && "position behind the end of an epoch");
  // The domain is smaller than 4 × size, so that the cycle walk takes less than 4 rounds on average.
  do {
    uint64_t left = position >> halfBits, right = position & mask;
    for (uint64_t key : keys) {
      uint64_t next = left ^ (mix64(right ^ key) & mask);
      left = right;
      right = next;
    }
    position = left << halfBits | right;
  } while (position >= size);
  return position;
}

} // namespace tessera::runtime
