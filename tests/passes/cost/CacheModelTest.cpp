//===- CacheModelTest.cpp - which bytes are in which cache ----------------===//

#include "passes/cost/CacheModel.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;

namespace {

/// The same, byte by byte: a list of all bytes, the last accessed first.
class ByteStack {
public:
  explicit ByteStack(std::vector<int64_t> capacities) : capacities(std::move(capacities)) {}

  std::vector<double> access(int64_t offset, int64_t span) {
    std::vector<double> counts(capacities.size() + 1, 0.0);
    for (int64_t byte = offset; byte < offset + span; ++byte) {
      int64_t position = std::find(bytes.begin(), bytes.end(), byte) - bytes.begin();
      if (position == int64_t(bytes.size())) position = INT64_MAX;
      size_t level = 0;
      while (level < capacities.size() && position >= capacities[level]) ++level;
      counts[level] += 1.0 / double(span);
    }
    for (int64_t byte = offset; byte < offset + span; ++byte) {
      if (auto found = std::find(bytes.begin(), bytes.end(), byte); found != bytes.end()) bytes.erase(found);
      bytes.insert(bytes.begin(), byte);
    }
    if (int64_t(bytes.size()) > capacities.back()) bytes.resize(capacities.back());
    return counts;
  }

private:
  std::vector<int64_t> capacities, bytes;
};

using Parts = std::vector<double>;

Parts access(CacheModel &caches, int64_t offset, int64_t span) {
  auto parts = caches.access(offset, span);
  return {parts.begin(), parts.end()};
}

TEST(CacheModel, TheFirstAccessReadsMemory) {
  CacheModel caches({100, 1000});
  EXPECT_EQ(access(caches, 0, 80), Parts({0, 0, 1}));
  EXPECT_EQ(access(caches, 0, 80), Parts({1, 0, 0}));
}

TEST(CacheModel, OtherAccessesMoveBytesToLargerCachesAndEvictThem) {
  CacheModel caches({100, 1000});
  access(caches, 0, 80);
  access(caches, 5000, 60);
  EXPECT_EQ(access(caches, 0, 80), Parts({0.5, 0.5, 0}));
  access(caches, 6000, 500);
  EXPECT_EQ(access(caches, 0, 80), Parts({0, 1, 0}));
  access(caches, 7000, 1000);
  EXPECT_EQ(access(caches, 0, 80), Parts({0, 0, 1}));
}

TEST(CacheModel, OfPartialOverlapsTheRestIsRead) {
  CacheModel caches({100, 1000});
  access(caches, 0, 40);
  EXPECT_EQ(access(caches, 20, 80), Parts({0.25, 0, 0.75}));
  // The first 20 bytes are the oldest of 100.
  EXPECT_EQ(access(caches, 0, 20), Parts({1, 0, 0}));
}

TEST(CacheModel, OfLargerSpansTheEndIsHeld) {
  CacheModel caches({100, 1000});
  access(caches, 0, 4000);
  EXPECT_EQ(access(caches, 3900, 100), Parts({1, 0, 0}));
  EXPECT_EQ(access(caches, 3000, 100), Parts({0, 1, 0}));
  EXPECT_EQ(access(caches, 0, 1000), Parts({0, 0, 1}));
  EXPECT_EQ(access(caches, 0, 0), Parts({0, 0, 0}));
}

TEST(CacheModel, AgreesWithAListOfAllBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> capacities{1 + int64_t(random() % 40)};
    while (capacities.size() < 1 + random() % 3) capacities.push_back(capacities.back() + int64_t(random() % 80));
    CacheModel caches(capacities);
    ByteStack bytes(capacities);
    for (int i = 0; i < 60; ++i) {
      int64_t offset = random() % 150, span = 1 + int64_t(random() % (random() % 8 ? 30 : 200));
      Parts parts = access(caches, offset, span), expected = bytes.access(offset, span);
      ASSERT_EQ(parts.size(), expected.size());
      for (size_t level = 0; level < parts.size(); ++level)
        ASSERT_NEAR(parts[level], expected[level], 1e-9)
            << "round " << round << ", access " << i << ": " << span << " bytes from " << offset << ", level " << level;
    }
  }
}

} // namespace
