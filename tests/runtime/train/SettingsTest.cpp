// Settings of the command line override those of the model file; unknown names and wrong values are refused.

#include "runtime/train/Settings.h"
#include "runtime/base/Error.h"

#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

TEST(Settings, OverridesAndSuggests) {
  Settings settings(Json::parse(R"({"evaluate": {"every": 250}, "save": null})"));
  settings.set("evaluate.every=10");
  settings.set("save.keep=2");
  EXPECT_EQ(settings.integer("evaluate.every", 0), 10);
  EXPECT_EQ(settings.integer("save.keep", 0), 2);
  EXPECT_EQ(settings.integer("save.every", 7), 7);
  for (const char *bad : {"evaluate.every", "evaluate.every=x", "evaluate.every=-1", "evaluate.every=1.5", "every=1"})
    EXPECT_THROW(settings.set(bad), Error) << bad;
}

/// The compiler multiplies `evaluate.batches` by the micro-batches of a batch; so does `--set`.
TEST(Settings, CountsBatchesLikeTheCompiler) {
  Settings settings(Json::parse(R"({"evaluate": {"batches": 160}})"), /*microBatches=*/8);
  EXPECT_EQ(settings.integer("evaluate.batches", 0), 160);
  settings.set("evaluate.batches=3");
  EXPECT_EQ(settings.integer("evaluate.batches", 0), 24);
  settings.set("evaluate.every=10");
  EXPECT_EQ(settings.integer("evaluate.every", 0), 10);
  EXPECT_THROW(settings.set("evaluate.batches=9223372036854775807"), Error);
}

} // namespace
