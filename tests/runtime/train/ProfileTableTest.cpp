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
