// Elements of every size move between orders of axes, contiguous runs as one block.

#include "runtime/weights/StridedCopy.h"

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
}

} // namespace
