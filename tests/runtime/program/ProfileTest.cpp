// A profile counts the calls of steps, and no others.

#include "runtime/program/Profile.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(Profile, CallsBetweenStepsDoNotCount) {
  using std::chrono::milliseconds;
  Profile profile;
  auto evaluate = [&] {
    profile.add(Profile::Kind::Copy, 64, milliseconds(100));
    profile.add(Profile::Kind::Zero, 8, milliseconds(100)); // in no step
  };
  evaluate();
  EXPECT_EQ(profile.countSteps(), 0u);
  EXPECT_TRUE(profile.describe({})["rows"].empty());
  for (int i = 0; i < 3; ++i) {
    profile.beginStep();
    for (int call = 0; call < 2; ++call) profile.add(Profile::Kind::Copy, 64, milliseconds(3));
    profile.endStep(milliseconds(10));
    evaluate();
  }
  Json described = profile.describe({});
  EXPECT_EQ(described["steps"], 3);
  ASSERT_EQ(described["rows"].size(), 1u);
  EXPECT_EQ(described["rows"][0]["calls"], 2);
  EXPECT_DOUBLE_EQ(described["rows"][0]["seconds"].get<double>(), 0.006);
}

/// A contraction without its epilogue reads and writes less; the kernel's row has the rest.
TEST(Profile, ContractionsAreThoseThatRan) {
  Manifest manifest;
  GemmSpec gemm;
  gemm.a.dims = {4, 8}, gemm.b.dims = {8, 16}, gemm.c.dims = {4, 16};
  gemm.epilogue = GemmEpilogue::Gelu, gemm.hasAux = true;
  manifest.gemms = {gemm};
  Profile profile;
  profile.beginStep();
  profile.add(Profile::Kind::Contraction, 0, std::chrono::milliseconds(1));
  profile.endStep(std::chrono::milliseconds(2));
  EXPECT_EQ(profile.describe(manifest)["rows"][0]["written"], 2 * 4 * 16 * 4);
  gemm.epilogue = GemmEpilogue::None, gemm.hasAux = false;
  profile.setGemm(0, gemm);
  EXPECT_EQ(profile.describe(manifest)["rows"][0]["written"], 4 * 16 * 4);
}

/// Of an exchange the bytes are those that a rank receives, and sends: from and to each of the others.
TEST(Profile, ExchangesHaveTheirBytes) {
  Manifest manifest;
  manifest.predicted.source = "calibrated";
  manifest.target.ranks = {{{"data", 4}},
                           {{"w", "data", ExchangeSpec::Kind::AllGather, 8},
                            {"gradient of w", "data", ExchangeSpec::Kind::AllToAll, 100, "m.tsr:3:9"}}};
  manifest.target.ranks.exchanges[1].seconds = 0.25;
  manifest.target.ranks.exchanges[1].work = {{"network", {{"bytes", 300}, {"rounds", 3}}}};
  Profile profile;
  profile.beginStep();
  for (int call = 0; call < 2; ++call) {
    profile.add(Profile::Kind::Exchange, 1, std::chrono::milliseconds(3));
    profile.addSent(1, 299); // what the communicator counted, whatever the manifest says
  }
  profile.endStep(std::chrono::milliseconds(10));
  profile.addSent(1, 7); // in no step
  Json rows = profile.describe(manifest)["rows"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["kind"], "exchange");
  EXPECT_EQ(rows[0]["name"], "all_to_all along data");
  EXPECT_EQ(rows[0]["of"], "gradient of w");
  EXPECT_EQ(rows[0]["at"], "m.tsr:3:9");
  EXPECT_EQ(rows[0]["calls"], 2);
  EXPECT_EQ(rows[0]["predicted"], 0.5);
  for (const char *key : {"received", "read", "written"}) EXPECT_EQ(rows[0][key], 300) << key;
  EXPECT_EQ(rows[0]["sent"], 2 * 299);
  EXPECT_EQ(rows[0]["work"], manifest.target.ranks.exchanges[1].work);
  EXPECT_TRUE(rows[0]["work"].contains("network"));
  EXPECT_EQ(profile.sentBy(1), 2 * 299);
  EXPECT_EQ(profile.sentBy(0), 0);
}

} // namespace
