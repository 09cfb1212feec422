#include "runtime/data/Permutation.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

using namespace tessera::runtime;

namespace {

TEST(Permutation, IsOne) {
  for (uint64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 4097})
    for (uint64_t seed : {0, 1, 1337}) {
      Permutation permutation(size, seed, 3);
      std::vector<bool> seen(size);
      for (uint64_t i = 0; i < size; ++i) {
        uint64_t at = permutation(i);
        ASSERT_LT(at, size);
        ASSERT_FALSE(seen[at]) << size;
        seen[at] = true;
      }
    }
}

TEST(Permutation, DependsOnSeedAndEpochOnly) {
  auto first = [](uint64_t seed, uint64_t epoch) {
    Permutation permutation(1'000'000, seed, epoch);
    std::vector<uint64_t> positions;
    for (uint64_t i = 0; i < 8; ++i) positions.push_back(permutation(i));
    return positions;
  };
  EXPECT_EQ(first(1, 2), first(1, 2));
  std::set<std::vector<uint64_t>> different;
  for (uint64_t seed = 0; seed < 20; ++seed)
    for (uint64_t epoch = 0; epoch < 20; ++epoch) different.insert(first(seed, epoch));
  EXPECT_EQ(different.size(), 400u);
}

// Over many keys each position must go everywhere equally often: chi-square with 255 degrees of freedom.
TEST(Permutation, IsEven) {
  constexpr int size = 16, keys = 8192;
  int counts[size][size] = {};
  for (uint64_t key = 0; key < keys; ++key) {
    Permutation permutation(size, key, 0);
    for (int i = 0; i < size; ++i) ++counts[i][permutation(i)];
  }
  double expected = double(keys) / size, chi = 0;
  for (auto &row : counts)
    for (int count : row) chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 360);
}

TEST(Permutation, HugeSizes) {
  Permutation permutation(uint64_t(1) << 40, 1, 0);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) seen.insert(permutation(i));
  EXPECT_EQ(seen.size(), 1000u);
}

} // namespace
