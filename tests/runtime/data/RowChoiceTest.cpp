#include "runtime/data/RowChoice.h"

#include <gtest/gtest.h>

#include <set>

using namespace tessera::runtime;

namespace {

std::vector<int64_t> rowsOf(const RowChoice &choice) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < choice.rows(); ++i) rows.push_back(choice(i));
  return rows;
}

TEST(RowChoice, PartsAreOrderedAndDisjointAndWhole) {
  for (int64_t count : {1, 2, 3, 7, 10, 100, 1797})
    for (double fraction : {0.0, 0.001, 0.1, 0.2, 0.34, 0.5, 0.67, 0.9, 0.999})
      for (std::optional<uint64_t> seed :
           {std::optional<uint64_t>(), std::optional<uint64_t>(0), std::optional<uint64_t>(9)}) {
        std::vector<int64_t> training = rowsOf(RowChoice({Portion::Training, fraction, seed}, count)),
                             held = rowsOf(RowChoice({Portion::Validation, fraction, seed}, count));
        EXPECT_EQ(int64_t(held.size()), int64_t(double(count) * fraction));
        EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
        EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
        std::set<int64_t> all(training.begin(), training.end());
        all.insert(held.begin(), held.end());
        ASSERT_EQ(int64_t(all.size()), count) << count << " " << fraction;
        EXPECT_EQ(*all.begin(), 0);
        EXPECT_EQ(*all.rbegin(), count - 1);
      }
}

TEST(RowChoice, WithoutASeedTheEndIsHeldOut) {
  EXPECT_EQ(rowsOf(RowChoice({Portion::Validation, 0.3}, 10)), (std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(rowsOf(RowChoice({}, 3)), (std::vector<int64_t>{0, 1, 2}));
}

TEST(RowChoice, DependsOnCountAndSeed) {
  auto held = [](int64_t count, uint64_t seed) { return rowsOf(RowChoice({Portion::Validation, 0.1, seed}, count)); };
  EXPECT_EQ(held(1000, 0), held(1000, 0));
  std::set<std::vector<int64_t>> different;
  for (uint64_t seed = 0; seed < 50; ++seed) different.insert(held(1000, seed));
  EXPECT_EQ(different.size(), 50u);
  EXPECT_NE(held(1000, 0), held(1001, 0));
  // Golden: a later version must choose the same rows, or runs that resume would train on what they hold out.
  EXPECT_EQ(held(50, 0), (std::vector<int64_t>{8, 17, 24, 36, 43}));
}

// Over many seeds each place within ten rows is held out equally often: chi-square with 9 degrees of freedom.
TEST(RowChoice, IsEven) {
  int counts[10] = {};
  for (uint64_t seed = 0; seed < 1000; ++seed)
    for (int64_t row : rowsOf(RowChoice({Portion::Validation, 0.1, seed}, 100))) ++counts[row % 10];
  double chi = 0;
  for (int count : counts) chi += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi, 30);
}

TEST(RowChoice, HugeCounts) {
  int64_t count = int64_t(1) << 60;
  RowChoice training({Portion::Training, 0.1, 3}, count), held({Portion::Validation, 0.1, 3}, count);
  EXPECT_EQ(training.rows() + held.rows(), count);
  EXPECT_LT(held(held.rows() - 1), count);
  EXPECT_GE(training(training.rows() - 1), count - 2);
}

} // namespace
