//===- Hash.cpp - the hash of checkpoints ---------------------------------===//
//
// XXH64 after its specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Hash.h"

#include <bit>
#include <cstring>

namespace tessera::runtime {

static constexpr uint64_t p1 = 0x9e3779b185ebca87ull, p2 = 0xc2b2ae3d27d4eb4full, p3 = 0x165667b19e3779f9ull,
                          p4 = 0x85ebca77c2b2ae63ull, p5 = 0x27d4eb2f165667c5ull;

template <typename T> static T load(const unsigned char *at) {
  T value;
  memcpy(&value, at, sizeof(T));
  return value;
}

static uint64_t addLane(uint64_t lane, uint64_t input) { return std::rotl(lane + input * p2, 31) * p1; }
static uint64_t merge(uint64_t hash, uint64_t lane) { return (hash ^ addLane(0, lane)) * p1 + p4; }

uint64_t hashXxh64(const void *bytes, size_t size) {
  auto *at = static_cast<const unsigned char *>(bytes), *end = at + size;
  uint64_t hash = p5;
  if (size >= 32) {
    uint64_t a = p1 + p2, b = p2, c = 0, d = 0 - p1;
    for (; end - at >= 32; at += 32) {
      a = addLane(a, load<uint64_t>(at));
      b = addLane(b, load<uint64_t>(at + 8));
      c = addLane(c, load<uint64_t>(at + 16));
      d = addLane(d, load<uint64_t>(at + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
  }
  hash += size;
  for (; end - at >= 8; at += 8) hash = std::rotl(hash ^ addLane(0, load<uint64_t>(at)), 27) * p1 + p4;
  if (end - at >= 4) {
    hash = std::rotl(hash ^ load<uint32_t>(at) * p1, 23) * p2 + p3;
    at += 4;
  }
  for (; at < end; ++at) hash = std::rotl(hash ^ *at * p5, 11) * p1;
  hash = (hash ^ hash >> 33) * p2;
  hash = (hash ^ hash >> 29) * p3;
  return hash ^ hash >> 32;
}

} // namespace tessera::runtime
