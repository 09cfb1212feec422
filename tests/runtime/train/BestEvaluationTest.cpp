// The best evaluation: of a loss the smallest, of a metric what the goal says; it survives in a record.

#include "runtime/train/BestEvaluation.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tessera::runtime;

namespace {

EntryFunction evaluate() {
  EntryFunction entry;
  entry.outputs.push_back({"ce", "loss"});
  entry.outputs.push_back({"ce", "count"});
  entry.outputs.push_back({"aux", "loss"});
  entry.outputs.push_back({"right", "metric"});
  return entry;
}

EvaluationResult result(double ce, double right) { return {{{"ce", ce}, {"aux", 1}}, {{"right", right}}, ce + 1, 10}; }

TEST(BestEvaluation, ComparesWhatTheGoalSays) {
  BestEvaluation loss("ce", evaluate(), "save.best"), most("max(right)", evaluate(), "save.best"),
      total("", evaluate(), "stop.patience"), least("min(total)", evaluate(), "save.best"),
      largest("max(ce)", evaluate(), "save.best");
  for (BestEvaluation *each : {&loss, &most, &total, &least, &largest}) EXPECT_TRUE(each->note(0, result(2, 0.5)));
  EXPECT_TRUE(loss.note(10, result(1, 0.5)));
  EXPECT_FALSE(loss.note(20, result(1, 0.9))); // equal is not better
  EXPECT_FALSE(loss.note(30, result(std::nan(""), 0.9)));
  EXPECT_EQ(loss.evaluationsSince(), 2);
  EXPECT_EQ(loss.describe(), "`ce` has not improved in 2 evaluations; the best was 1 at step 10");
  EXPECT_FALSE(most.note(10, result(1, 0.5)));
  EXPECT_TRUE(most.note(20, result(9, 0.6)));
  EXPECT_TRUE(total.note(10, result(1.5, 0)));
  EXPECT_TRUE(least.note(10, result(1.5, 0)));
  EXPECT_FALSE(largest.note(10, result(1.5, 0)));
}

TEST(BestEvaluation, RefusesUnclearGoals) {
  for (const char *goal : {"right", "nothing", "max(nothing)", "max(total)", "max(right", "argmax(right)"})
    EXPECT_THROW(BestEvaluation(goal, evaluate(), "save.best"), Error) << goal;
  try {
    BestEvaluation("right", evaluate(), "save.best");
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("max(right) or min(right)"), std::string::npos) << e.what();
    EXPECT_EQ(e.exitStatus(), ExitStatus::Usage);
  }
}

TEST(BestEvaluation, SurvivesInARecord) {
  BestEvaluation first("ce", evaluate(), "save.best");
  EXPECT_TRUE(first.record().is_null());
  first.note(10, result(0.1, 0));
  first.noteSaved(/*isOnlyBest=*/true);
  first.note(20, result(0.2, 0));
  BestEvaluation second("ce", evaluate(), "save.best"), other("aux", evaluate(), "save.best");
  second.restore(Json::parse(first.record().dump()));
  EXPECT_EQ(second.record(), first.record());
  EXPECT_FALSE(second.note(30, result(0.1, 0)));
  EXPECT_EQ(second.evaluationsSince(), 2);
  EXPECT_TRUE(second.note(40, result(0.05, 0)));
  second.noteSaved(/*isOnlyBest=*/false);
  EXPECT_EQ(second.takeSuperseded(), 10);
  EXPECT_EQ(second.takeSuperseded(), -1);
  other.restore(first.record()); // compared something else
  EXPECT_EQ(other.step(), -1);
  Json older = first.record();
  older.erase("saved_step");
  BestEvaluation third("ce", evaluate(), "save.best");
  third.restore(older);
  EXPECT_EQ(third.savedStep(), 10);
  for (const char *bad : {"7", "{}", R"({"of": "ce"})", R"({"of": "ce", "step": -5})",
                          R"({"of": "ce", "step": 5, "value": "x", "evaluations_since": 1, "only_best": false})"}) {
    BestEvaluation fresh("ce", evaluate(), "save.best");
    fresh.restore(Json::parse(bad));
    EXPECT_EQ(fresh.step(), -1) << bad;
  }
}

// A checkpoint that could not be written replaces none.
TEST(BestEvaluation, TheSavedBestStaysUntilABetterOneIsWritten) {
  BestEvaluation best("ce", evaluate(), "save.best");
  best.note(10, result(3, 0));
  EXPECT_EQ(best.savedStep(), -1);
  EXPECT_TRUE(best.record()["saved_step"].is_null());
  best.noteSaved(/*isOnlyBest=*/true);
  best.note(20, result(2, 0));
  EXPECT_EQ(best.step(), 20);
  EXPECT_EQ(best.savedStep(), 10);
  EXPECT_EQ(best.takeSuperseded(), -1);
  BestEvaluation resumed("ce", evaluate(), "save.best");
  resumed.restore(Json::parse(best.record().dump()));
  for (BestEvaluation *each : {&best, &resumed}) {
    each->note(30, result(1, 0));
    each->noteSaved(/*isOnlyBest=*/true);
    EXPECT_EQ(each->savedStep(), 30);
    EXPECT_EQ(each->takeSuperseded(), 10);
  }
}

} // namespace
