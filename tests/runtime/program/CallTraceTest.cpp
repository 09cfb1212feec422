// Non-finite results are found, and named by the user's names.

#include "runtime/program/CallTrace.h"
#include "runtime/program/Manifest.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(CallTrace, ResultsOfAFusedLaunchHaveTheirOwnNames) {
  auto result = [](const std::string &name, int offset) {
    return R"({)" + name + R"("op": "exp", "from": [], "type": "f32", "axes": [], "offset": )" +
           std::to_string(offset) + R"(, "strides": [], "infinite": false})";
  };
  std::vector<TracedCall> steps =
      readTrace(Json::parse(R"([{"name": "alone", "results": [)" + result("", 0) + R"(]}, {"name": "", "results": [)" +
                            result(R"("name": "first", )", 0) + ", " + result(R"("name": "second", )", 4) + "]}]"));
  ASSERT_EQ(steps.size(), 2U);
  const float arena[] = {1, INFINITY, NAN};
  auto *bytes = reinterpret_cast<const char *>(arena);
  EXPECT_FALSE(findNonFinite(steps[0], {}, bytes));
  EXPECT_EQ(findNonFinite(steps[0], {}, bytes + 8)->name, "alone");
  EXPECT_EQ(findNonFinite(steps[1], {}, bytes)->name, "second");
  EXPECT_EQ(findNonFinite(steps[1], {}, bytes + 4)->name, "first");
}

TEST(CallTrace, BytesBetweenRowsHaveNoElements) {
  std::vector<TracedCall> steps = readTrace(Json::parse(
      R"([{"name": "padded", "results": [{"op": "exp", "from": [], "type": "f32", "offset": 0, "strides": [],
           "axes": [["l", 2], ["row", 2], ["col", 3]], "allocated": [2, 2, 4], "infinite": false}]}])"));
  EXPECT_EQ(steps[0].results[0].elementStrides(), (std::vector<int64_t>{8, 4, 1}));
  EXPECT_EQ(steps[0].results[0].extent(), 15); // without the gap after the last row
  float arena[16] = {};
  auto *bytes = reinterpret_cast<const char *>(arena);
  for (int gap : {3, 7, 11, 15}) arena[gap] = NAN;
  EXPECT_FALSE(findNonFinite(steps[0], {}, bytes));
  for (int element : {0, 2, 4, 6, 8, 14}) {
    arena[element] = INFINITY;
    EXPECT_TRUE(findNonFinite(steps[0], {}, bytes)) << element;
    arena[element] = 0;
  }
}

} // namespace
