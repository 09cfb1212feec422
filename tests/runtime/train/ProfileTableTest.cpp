// The table of a profile adds up lines and kernels, the longest first.

#include "runtime/train/ProfileTable.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(ProfileTable, SortsLinesAndKernels) {
  Json profile = Json::parse(R"({"model": "m", "steps": 11, "seconds": 0.01, "rows": [
    {"kind": "kernel", "name": "tsr_kernel_a", "of": "h.a mul", "at": "m.tsr:3:5", "flops": 1000000, "contracts": false,
     "read": 3000000, "written": 1000000, "calls": 2, "seconds": 0.002},
    {"kind": "contraction", "name": "h.b", "at": "m.tsr:4:9", "flops": 100000000, "read": 1000, "written": 1000,
     "calls": 2, "seconds": 0.004},
    {"kind": "kernel", "name": "tsr_kernel_c", "of": "gradient in h.a", "at": "m.tsr:3:9 and 2 other places",
     "flops": 5, "contracts": false, "read": 5, "written": 5, "calls": 1, "seconds": 0.003},
    {"kind": "copy", "name": "copy", "flops": 0, "read": 64, "written": 64, "calls": 1, "seconds": 0.00001}]})");
  EXPECT_EQ(profileTable(profile, MachineLimits{100e9, 10e9}),
            "profile: 10 ms a step, median of 10; this machine reaches 100 GFLOP/s in multiply-adds of f32 and copies "
            R"(10.0 GB/s
        ms   share  by line of the model, with its gradients
         5   50.0%  m.tsr:3
         4   40.0%  m.tsr:4
      0.99    9.9%  between kernels
        ms   share  calls  GFLOP/s    GB/s   limit  by kernel
         4   40.0%      2       50   0.001     50%  h.b: contraction, m.tsr:4:9
         3   30.0%      1 1.667e-06 3.33e-06      0%  c: gradient in h.a, m.tsr:3:9 and 2 other places
         2   20.0%      2        1       4     40%  a: h.a mul, m.tsr:3:5
      0.01    0.1%  1 more)");
  std::string unknown = profileTable(profile, std::nullopt);
  EXPECT_EQ(unknown.find("this machine"), std::string::npos);
  EXPECT_EQ(unknown.find("50%  h.b"), std::string::npos);
}

/// The rates are of f32 and of memory: what caches deliver, and multiply-adds of other types, may be faster.
TEST(ProfileTable, SaysWhatTheRatesDoNotBound) {
  Json profile = Json::parse(R"({"model": "m", "steps": 2, "seconds": 0.01, "rows": [
    {"kind": "kernel", "name": "reduced", "flops": 800000000, "contracts": true, "read": 5000000, "written": 0,
     "work": {"multiplies": [{"type": "bf16"}]}, "calls": 1, "seconds": 0.004},
    {"kind": "kernel", "name": "cached", "flops": 5, "contracts": false, "read": 60000000, "written": 0, "calls": 1,
     "seconds": 0.003},
    {"kind": "kernel", "name": "cached_gemm", "flops": 100000000, "contracts": true, "read": 60000000, "written": 0,
     "work": {"multiplies": [{"type": "f32"}]}, "calls": 1, "seconds": 0.002}]})");
  std::string table = profileTable(profile, MachineLimits{100e9, 10e9});
  EXPECT_NE(table.find("    bf16  reduced"), std::string::npos) << table;
  EXPECT_NE(table.find("   cache  cached\n"), std::string::npos) << table;
  EXPECT_NE(table.find("     50%  cached_gemm"), std::string::npos) << table;
  EXPECT_EQ(table.find("when it was measured"), std::string::npos) << table;
}

/// Of other work beside the measurement of the rate: rows that were faster show what the machine reaches.
TEST(ProfileTable, TheFastestRowRaisesTheRate) {
  Json profile = Json::parse(R"({"model": "m", "steps": 2, "seconds": 0.01, "rows": [
    {"kind": "contraction", "name": "fast", "flops": 400000000, "read": 5, "written": 0, "calls": 1,
     "seconds": 0.002},
    {"kind": "contraction", "name": "tiny", "flops": 400000, "read": 5, "written": 0, "calls": 1, "seconds": 0.0000001},
    {"kind": "contraction", "name": "slow", "flops": 300000000, "read": 5, "written": 0, "calls": 1,
     "seconds": 0.003}]})");
  std::string table = profileTable(profile, MachineLimits{150e9, 10e9});
  EXPECT_NE(
      table.find("reaches 200 GFLOP/s in multiply-adds of f32 (in fast; 150 when it was measured at the end) and"),
      std::string::npos)
      << table;
  EXPECT_NE(table.find("    100%  fast"), std::string::npos) << table;
  EXPECT_NE(table.find("     50%  slow"), std::string::npos) << table;
}

/// The rate of an exchange is that of what a rank receives, and neither arithmetic nor memory bounds it.
TEST(ProfileTable, ExchangesHaveTheRateOfTheirLink) {
  Json profile = Json::parse(R"({"model": "m", "steps": 2, "seconds": 0.01, "rows": [
    {"kind": "exchange", "name": "all_to_all along data", "of": "gradient of w", "at": "m.tsr:3:9", "flops": 0,
     "read": 3000000, "written": 3000000, "received": 3000000, "calls": 2, "seconds": 0.004}]})");
  std::string table = profileTable(profile, MachineLimits{100e9, 10e9});
  EXPECT_NE(table.find("0     1.5    link  all_to_all along data: gradient of w, m.tsr:3:9"), std::string::npos)
      << table;
}

TEST(ProfileTable, FilesMayHaveSpacesInTheirNames) {
  Json profile = Json::parse(R"({"model": "m", "steps": 2, "seconds": 0.01, "rows": [
    {"kind": "kernel", "name": "a", "at": "my and your model.tsr:3:5", "flops": 1, "read": 1, "written": 1, "calls": 1,
     "seconds": 0.002},
    {"kind": "kernel", "name": "b", "at": "my and your model.tsr:4:9 and 2 other places", "flops": 1, "read": 1,
     "written": 1, "calls": 1, "seconds": 0.003}]})");
  std::string table = profileTable(profile, std::nullopt);
  for (const char *line : {"20.0%  my and your model.tsr:3\n", "30.0%  my and your model.tsr:4\n"})
    EXPECT_NE(table.find(line), std::string::npos) << table;
}

} // namespace
