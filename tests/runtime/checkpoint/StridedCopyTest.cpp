// Elements of every size move between orders of axes, contiguous runs as one block.

#include "runtime/checkpoint/StridedCopy.h"

#include <gtest/gtest.h>

#include <numeric>

using namespace tessera::runtime;

namespace {

template <typename Element> void expectTransposes() {
  // [a 2, b 3, c 4] to [c, a, b], and back.
  std::vector<Element> from(24), to(24), back(24);
  std::iota(from.begin(), from.end(), Element(1));
  std::vector<StridedAxis> axes = {{2, 12, 3}, {3, 4, 1}, {4, 1, 6}};
  copyStrided(axes, sizeof(Element), reinterpret_cast<char *>(from.data()), reinterpret_cast<char *>(to.data()));
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c) EXPECT_EQ(to[(c * 2 + a) * 3 + b], from[(a * 3 + b) * 4 + c]);
  copyStrided(reversed(axes), sizeof(Element), reinterpret_cast<char *>(to.data()),
              reinterpret_cast<char *>(back.data()));
  EXPECT_EQ(back, from);
}

TEST(StridedCopy, Transposes) {
  expectTransposes<uint8_t>();
  expectTransposes<uint16_t>();
  expectTransposes<float>();
  expectTransposes<double>();
}

TEST(StridedCopy, VisitsTheSourceInRuns) {
  using Runs = std::vector<std::pair<int64_t, int64_t>>;
  auto runsOf = [](const std::vector<StridedAxis> &axes) {
    Runs runs;
    forEachSourceRun(axes, [&](int64_t offset, int64_t count) { runs.push_back({offset, count}); });
    return runs;
  };
  EXPECT_EQ(runsOf({{2, 12, 3}, {3, 4, 1}, {4, 1, 6}}), (Runs{{0, 24}})); // whatever the destination's order
  EXPECT_EQ(runsOf({{2, 1, 0}, {2, 6, 0}}), (Runs{{0, 2}, {6, 2}}));
  EXPECT_EQ(runsOf({{2, 3, 0}}), (Runs{{0, 1}, {3, 1}}));
  EXPECT_EQ(runsOf({}), (Runs{{0, 1}}));
  EXPECT_EQ(runsOf({{2, 3, 0}, {0, 1, 0}}), Runs{});
}

TEST(StridedCopy, DenseSidesAreRowMajor) {
  std::vector<StridedAxis> axes = toDense({{2, 7, 70}, {3, 5, 50}, {4, 9, 90}});
  EXPECT_EQ(axes[0].to, 12);
  EXPECT_EQ(axes[1].to, 4);
  EXPECT_EQ(axes[2].to, 1);
  EXPECT_EQ(axes[0].from, 7);
  axes = fromDense({{2, 7, 70}, {3, 5, 50}});
  EXPECT_EQ(axes[0].from, 3);
  EXPECT_EQ(axes[1].from, 1);
  EXPECT_EQ(axes[0].to, 70);
}

TEST(StridedCopy, CopiesRunsScalarsAndParts) {
  std::vector<float> from(24), to(24, -1);
  std::iota(from.begin(), from.end(), 0.f);
  copyStrided({{2, 12, 12}, {3, 4, 4}, {4, 1, 1}}, 4, reinterpret_cast<char *>(from.data()),
              reinterpret_cast<char *>(to.data()));
  EXPECT_EQ(to, from);
  float scalar = 0;
  copyStrided({}, 4, reinterpret_cast<char *>(&from[7]), reinterpret_cast<char *>(&scalar));
  EXPECT_EQ(scalar, 7);
  // The second of three columns of [4, 6], each of two elements.
  std::vector<float> part(8, -1);
  copyStrided({{4, 6, 2}, {2, 1, 1}}, 4, reinterpret_cast<char *>(&from[2]), reinterpret_cast<char *>(part.data()));
  EXPECT_EQ(part, (std::vector<float>{2, 3, 8, 9, 14, 15, 20, 21}));
  copyStrided({{4, 6, 2}, {0, 1, 1}}, 4, nullptr, nullptr); // nothing
}

} // namespace
