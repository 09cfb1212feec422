// The launcher: the best checkpoint, early stopping, and a loss that explodes.

#include "LauncherFixture.h"

using namespace tessera::tests;

namespace {

class LauncherBest : public LauncherFixture {
protected:
  /// Validation data of the opposite sign: training makes their loss grow from the start.
  void writeOpposite() {
    std::string text;
    for (int i = 0; i < 20; ++i) {
      double a = (i * 7 % 11) / 11.0, b = (i * 5 % 13) / 13.0, c = (i * 3 % 17) / 17.0;
      text += fmt::format("{},{},{},{},{}\n", a, b, c, -9 * (a - 2 * b + 0.5 * c), -27 * c);
    }
    folder.write("opposite.csv", text);
  }
  std::vector<int64_t> steps(const std::string &dir) { return CheckpointFolder(folder / dir).steps(); }
  static void expectIn(const Outcome &outcome, const std::string &text) {
    EXPECT_NE(outcome.output.find(text), std::string::npos) << text << "\n" << outcome.output;
  }
};

TEST_F(LauncherBest, KeepsTheBestCheckpointBesideTheNewest) {
  writeOpposite();
  Outcome train = run("train --checkpoint-dir a --data val=opposite.csv --set save.best=squared --set save.keep=2");
  ASSERT_EQ(train.status, 0) << train.output;
  EXPECT_EQ(steps("a"), (std::vector<int64_t>{0, 30, 40}));
  for (const char *command : {"eval --data opposite.csv", "export w.safetensors"}) {
    Outcome outcome = run(fmt::format("{} --checkpoint a/best", command));
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    expectIn(outcome, "a/step-00000000");
  }
  EXPECT_EQ(readFile(folder / "w.safetensors"), readFile(checkpoint("a", 0) + "/model.safetensors"));
  EXPECT_EQ(run("train --init a/best --steps 0 --checkpoint-dir b").status, 0);
  EXPECT_EQ(readFile(folder / "w.safetensors"), readFile(checkpoint("b", 0) + "/model.safetensors"));
  expectIn(run("eval --checkpoint b/best"), "b/best: the run has no best checkpoint");
  fs::remove_all(checkpoint("a", 0));
  expectIn(run("eval --checkpoint a/best"), "the best evaluation was at step 0, but a/step-00000000 is missing");
}

TEST_F(LauncherBest, BestOfTheDefaultFolder) {
  ASSERT_EQ(run("train --quiet --set save.best=squared").status, 0);
  Outcome eval = run("eval --checkpoint best");
  EXPECT_EQ(eval.status, 0) << eval.output;
  expectIn(eval, "line-checkpoints/step-00000040");
}

TEST_F(LauncherBest, EvaluationsThatAreNotFiniteAreNeverTheBest) {
  folder.write("infinite.csv", "1,2,3,1e30,5\n1,2,3,1e30,5\n");
  Outcome train = run("train --checkpoint-dir a --data val=infinite.csv --set save.best=squared");
  EXPECT_EQ(train.status, 0) << train.output;
  std::string warning = "warning: in the evaluation at step 0, the loss 'squared' is not finite: a formula is probably";
  expectIn(train, warning);
  expectIn(train, "such an evaluation is never the best one");
  EXPECT_EQ(train.output.find("warning: in the evaluation", train.output.find(warning) + 1), std::string::npos);
  expectIn(run("eval --checkpoint a/best"),
           "a/best: the run, now at step 40, compares `squared` of its evaluations, and "
           "it was not finite in any of them; name another checkpoint");
}

TEST_F(LauncherBest, BetterCheckpointReplacesOneThatWasOnlyBest) {
  std::string rare = "train --checkpoint-dir a --set save.best=squared --set save.every=0 --set save.keep=0 --steps ";
  ASSERT_EQ(run(rare + "25").status, 0); // better at 10, 20 and 25, where the run ends
  EXPECT_EQ(steps("a"), std::vector<int64_t>{25});
  ASSERT_EQ(run(rare + "40").status, 0);
  EXPECT_EQ(steps("a"), (std::vector<int64_t>{25, 40}));
}

// A checkpoint that was there before its evaluation has another reason to exist.
TEST_F(LauncherBest, CheckpointsOfBeforeTheEvaluationStay) {
  std::string rest = "train --set save.every=0 --set save.keep=0 --steps 25 --checkpoint-dir ";
  ASSERT_EQ(run("train --steps 1 --checkpoint-dir start").status, 0);
  ASSERT_EQ(run("export w.safetensors --checkpoint start").status, 0);
  for (auto [dir, set] : {std::pair("a", "save.best=squared"), {"b", "stop.patience=9"}}) {
    ASSERT_EQ(run(fmt::format("import w.safetensors -o {}", dir)).status, 0);
    Outcome train = run(fmt::format("{}{} --set evaluate.every=25 --set {}", rest, dir, set));
    ASSERT_EQ(train.status, 0) << train.output;
    EXPECT_EQ(steps(dir), (std::vector<int64_t>{0, 25})) << train.output;
  }
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.0)"}});
  ASSERT_EQ(run("train --steps 10 --set save.every=0 --checkpoint-dir c", "", "other").status, 0); // evaluates nothing
  Outcome resumed = run(rest + "c --set save.best=squared");
  ASSERT_EQ(resumed.status, 0) << resumed.output;
  EXPECT_EQ(steps("c"), (std::vector<int64_t>{10, 25})) << resumed.output;
}

TEST_F(LauncherBest, BestCheckpointStaysIfABetterOneCannotBeWritten) {
  // The name under which a checkpoint is written is taken: $$ is the process of the run. What is in these folders keeps
  // the run from removing them.
  std::string taken = "mkdir -p a/.tmp-step-00000020-$$/kept a/.tmp-step-00000030-$$/kept; exec";
  std::string train =
      "train --checkpoint-dir a --steps 30 --set save.best=squared --set save.every=25 --set save.keep=1";
  Outcome failed = run(train, taken);
  EXPECT_EQ(failed.status, 1) << failed.output;
  expectIn(failed, "training continues without this checkpoint");
  EXPECT_EQ(steps("a"), (std::vector<int64_t>{10, 25})) << failed.output;
  expectIn(run("eval --checkpoint a/best"), "the best evaluation was at step 20, but a/step-00000020 is missing; name "
                                            "another checkpoint, such as the best that was saved, a/step-00000010");
  Outcome again = run(train);
  EXPECT_EQ(again.status, 0) << again.output;
  EXPECT_EQ(steps("a"), std::vector<int64_t>{30}) << again.output;
}

TEST_F(LauncherBest, StopsWhenEvaluationsDoNotImprove) {
  writeOpposite();
  std::string stop = "train --checkpoint-dir a --data val=opposite.csv --set stop.patience=3 --quiet";
  ASSERT_EQ(run(stop + " --steps 15").status, 0); // evaluated at 0, 10 and 15
  Outcome early = run(stop);
  EXPECT_EQ(early.status, 0);
  expectIn(early, "stopped early at step 20: `total` has not improved in 3 evaluations; the best was");
  EXPECT_EQ(steps("a").back(), 20);
  Outcome again = run("train --checkpoint-dir a --data val=opposite.csv --set stop.patience=3");
  EXPECT_EQ(again.status, 0);
  expectIn(again, "nothing to do: the run in a stopped early at step 20: `total` has not improved in 3 evaluations");
  expectIn(again, "--set stop.patience=0 trains on");
  EXPECT_EQ(run("train --checkpoint-dir a --data val=opposite.csv").status, 0);
  EXPECT_EQ(steps("a").back(), 40);
}

TEST_F(LauncherBest, ResumedRunStopsWhereTheUninterruptedOneDoes) {
  writeOpposite();
  std::string stop = "train --data val=opposite.csv --set stop.patience=3 --quiet --checkpoint-dir ";
  ASSERT_EQ(run(stop + "a").status, 0);
  EXPECT_EQ(steps("a").back(), 30);
  ASSERT_EQ(run(stop + "b --steps 20").status, 0);
  ASSERT_EQ(run(stop + "b").status, 0);
  EXPECT_EQ(steps("b").back(), 30);
  expectEqualCheckpoints("a", "b", 30);
}

TEST_F(LauncherBest, SettingsWithoutEffectAreErrors) {
  for (auto [set, said] : {std::pair("save.best=nothing", "evaluates no loss or metric 'nothing', but squared"),
                           {"stop.patience=2 --set evaluate.every=0", "stop.patience counts evaluations"}}) {
    Outcome outcome = run(fmt::format("train --set {}", set));
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    expectIn(outcome, said);
  }
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.0)"}});
  for (const char *set : {"save.best=squared", "stop.patience=2"}) {
    Outcome outcome = run(fmt::format("train --set {}", set), "", "other");
    EXPECT_EQ(outcome.status, 2) << outcome.output;
    expectIn(outcome, "there is no validation data: name some with --data val=PATH");
  }
}

TEST_F(LauncherBest, ExplodingLossIsNoticedBeforeItIsInfinite) {
  Outcome calm = run("train --checkpoint-dir calm");
  EXPECT_EQ(calm.output.find("the loss was"), std::string::npos) << calm.output;
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{},{},1,2\n", 5 + i % 3 / 2.0, 6 - i % 5 / 2.0, 4 + i % 7 / 2.0);
  folder.write("line.csv", text);
  Outcome train = run("train --checkpoint-dir a --steps 400");
  EXPECT_EQ(train.status, 3) << train.output;
  expectIn(train, "warning: the loss was");
  expectIn(train, "the learning rate (0.05) is probably too large; try a tenth of it, or clip the gradients");
  expectIn(train, "before that the loss grew from");
}

} // namespace
