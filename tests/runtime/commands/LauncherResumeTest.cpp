// The launcher: checkpoints, resuming, and the metrics of resumed runs.

#include "LauncherFixture.h"
#include "runtime/base/Hash.h"
#include "runtime/train/RunDifferences.h"

using namespace tessera::tests;

namespace {

class LauncherResume : public LauncherFixture {};

TEST_F(LauncherResume, ResumedRunEqualsUninterrupted) {
  ASSERT_EQ(run("train --checkpoint-dir a --metrics a.jsonl").status, 0);
  ASSERT_EQ(run("train --checkpoint-dir again").status, 0);
  expectEqualCheckpoints("a", "again", 40);
  for (int steps : {1, 17, 30, 40})
    ASSERT_EQ(run(fmt::format("train --checkpoint-dir b --metrics b.jsonl --steps {}", steps)).status, 0);
  expectEqualCheckpoints("a", "b", 40);
  EXPECT_EQ(run("train --checkpoint-dir c --seed 7").status, 0);
  EXPECT_NE(readFile(checkpoint("a", 40) + "/model.safetensors"), readFile(checkpoint("c", 40) + "/model.safetensors"));
  EXPECT_FALSE(fs::exists(checkpoint("a", 10))); // keep = 3
  EXPECT_TRUE(fs::exists(checkpoint("a", 20)));
}

TEST_F(LauncherResume, ResumesFromANamedCheckpoint) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  Outcome other = run("train --checkpoint-dir b --resume a/step-00000030 --metrics m.jsonl --set save.every=7");
  EXPECT_EQ(other.status, 0) << other.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("the setting save.every changed from 10 to 7"), std::string::npos);
  expectEqualCheckpoints("a", "b", 40);
}

TEST_F(LauncherResume, SameCommandResumesItsOwnBranch) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  std::string resume = "train --checkpoint-dir b --resume a/step-00000020 --skip-batches 3 --steps ";
  ASSERT_EQ(run(resume + "25").status, 0);
  Outcome again = run(resume + "31");
  EXPECT_NE(again.output.find("resumed at step 25"), std::string::npos) << again.output;
  EXPECT_NE(run("train --checkpoint-dir b --steps 32").output.find("resumed at step 31"), std::string::npos);
  fs::remove_all(folder / "a"); // not needed any more
  EXPECT_NE(run(resume + "40").output.find("resumed at step 32"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(readFile(checkpoint("b", 40) + "/manifest.json"))["position"], 43);
  Outcome other = run("train --checkpoint-dir b --resume a/step-00000030");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.output.find("choose another --checkpoint-dir"), std::string::npos) << other.output;
}

TEST_F(LauncherResume, OtherModelsAndBatchesAreRefusedAndOtherDifferencesNoted) {
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10").status, 0);
  programWith({{R"("model": "line")", R"("model": "curve")"}});
  Outcome model = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(model.status, 1);
  EXPECT_NE(model.output.find("is of the model 'line', this program is 'curve'; --init"), std::string::npos)
      << model.output;
  programWith({{R"(["batch", 4])", R"(["batch", 2])"},
               {R"("offset": 320, "bytes": 48)", R"("offset": 320, "bytes": 24)"},
               {R"("offset": 384, "bytes": 32)", R"("offset": 384, "bytes": 16)"},
               {"\"offset\": 448,\n         \"bytes\": 32", R"("offset": 448, "bytes": 16)"},
               {R"("offset": 768, "bytes": 16)", R"("offset": 768, "bytes": 8)"}});
  Outcome batch = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(batch.status, 1);
  EXPECT_NE(batch.output.find("with 4 rows a batch, this program takes 2"), std::string::npos) << batch.output;
  Outcome noted = run("train --checkpoint-dir a --steps 12", "", "line");
  EXPECT_EQ(noted.output.find("note:"), std::string::npos) << noted.output;
  programWith({{"by hand", "by feet"}});
  folder.write("line.csv", csvLines(60));
  noted = run("train --checkpoint-dir a --steps 14 --metrics m.jsonl", "", "other");
  EXPECT_EQ(noted.status, 0) << noted.output;
  EXPECT_NE(noted.output.find("was recompiled"), std::string::npos) << noted.output;
  EXPECT_NE(noted.output.find("the training data of 'd' changed from 40 rows in one file of"), std::string::npos)
      << noted.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("was recompiled"), std::string::npos);
}

TEST_F(LauncherResume, ContentThatChangedIsNoted) {
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10").status, 0);
  std::string text = readFile(folder / "line.csv");
  size_t digit = text.find_last_of("123456");
  text[digit] = static_cast<char>(text[digit] + 1);
  folder.write("line.csv", text);
  Outcome resumed = run("train --checkpoint-dir a --steps 12");
  EXPECT_NE(
      resumed.output.find("note: the content of the training data of 'd' changed, though not its size, 40 rows in "
                          "one file of"),
      std::string::npos)
      << resumed.output;
  EXPECT_NE(resumed.output.find("held out now may have been trained on"), std::string::npos) << resumed.output;
  EXPECT_EQ(run("train --checkpoint-dir a --steps 14").output.find("note:"), std::string::npos);
}

TEST_F(LauncherResume, OtherStateIsRefusedWithWhatToDo) {
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10").status, 0);
  programWith({{"w.momentum", "w.m"}});
  Outcome optimizer = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(optimizer.status, 1);
  EXPECT_NE(
      optimizer.output.find("the program has no state 'w.momentum'; another --checkpoint-dir starts a new run, and "
                            "--init a/step-00000010 lets it take over the parameters, which fit"),
      std::string::npos)
      << optimizer.output;
  EXPECT_EQ(run("train --checkpoint-dir b --init a/step-00000010 --steps 1", "", "other").status, 0);
  programWith({{R"("path": "w",)", R"("path": "v",)"}});
  Outcome model = run("train --checkpoint-dir a", "", "other");
  EXPECT_NE(model.output.find("--init a/step-00000010 --only PATTERN lets it take over the parameters that fit"),
            std::string::npos)
      << model.output;
}

TEST_F(LauncherResume, OtherThreadsAreNotedAndOtherSequencesRefused) {
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10 --threads 2").status, 0);
  Outcome threads = run("train --checkpoint-dir a --steps 12 --threads 1 --metrics m.jsonl");
  EXPECT_EQ(threads.status, 0);
  EXPECT_NE(threads.output.find("resumes with 1 thread, the checkpoint was made with 2"), std::string::npos)
      << threads.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("--threads 2 avoids that"), std::string::npos);
  CheckpointInfo saved, now;
  saved.batch = now.batch = 4;
  saved.sources["d"] = {{"rows", 10}, {"bytes", {100}}, {"seq", 8}};
  now.sources["d"] = {{"rows", 20}, {"bytes", {100}}, {"seq", 4}};
  EXPECT_THROW(differencesSince(saved, now, "c"), Error);
  saved.sources["d"].erase("seq"); // of before it was recorded
  EXPECT_EQ(differencesSince(saved, now, "c").size(), 1u);
}

TEST_F(LauncherResume, NothingToDoSaysHowToGoOn) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  Outcome again = run("train --checkpoint-dir a");
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.output.find("nothing to do: the run in a is at step 40, its last; --steps N with a larger N trains "
                              "on, another --checkpoint-dir starts a new run"),
            std::string::npos)
      << again.output;
  EXPECT_NE(run("train --checkpoint-dir a --steps 9").output.find("is at step 40, beyond its last step 9"),
            std::string::npos);
}

TEST_F(LauncherResume, NothingToDoNamesWhatChanged) {
  std::string plan = R"("plan": {)", source = R"("source": {"options": [], "files": [{"name": "l.tsr", "lines": )";
  programWith({{plan, source + R"(["1 model line", "7 optimize sgd(lr = 0.1) on **"]}]}, )" + plan}});
  ASSERT_EQ(run("train --checkpoint-dir a --quiet", "", "other").status, 0);
  programWith({{plan, source + R"(["1 model line", "9 optimize sgd(lr = 0.2) on **"]}]}, )" + plan}});
  Outcome edited = run("train --checkpoint-dir a --quiet", "", "other");
  EXPECT_EQ(edited.status, 0);
  for (const char *said :
       {"note: the model changed: l.tsr:9: `optimize sgd(lr = 0.2) on **` was `optimize sgd(lr = 0.1) on **`",
        "nothing to do: the run in a is at step 40, its last; the changes since then, in the notes above, have had no "
        "effect; another --checkpoint-dir trains from the start with them, --steps N with a larger N trains on from "
        "here"})
    EXPECT_NE(edited.output.find(said), std::string::npos) << said << "\n" << edited.output;
  EXPECT_EQ(edited.output.find("was recompiled"), std::string::npos) << edited.output;
  // A parameter of another shape cannot be loaded: the same changes say why.
  std::string shape = R"([["output", 2], ["feature", 3]])", other = R"([["output", 3], ["feature", 2]])";
  programWith({{plan, source + R"(["1 model line", "7 weight w [feature, output]"]}]}, )" + plan}, {shape, other}});
  Outcome refused = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(refused.status, 1);
  for (const char *said : {"'w' has the shape [3, 2]", "the model changed since that checkpoint: l.tsr:7: `weight w",
                           "another --checkpoint-dir starts a new run"})
    EXPECT_NE(refused.output.find(said), std::string::npos) << said << "\n" << refused.output;
}

// A checkpoint of before the rows for validation were chosen, and a program that would choose them.
TEST_F(LauncherResume, OlderCheckpointsKeepTheirTailAndOrder) {
  ASSERT_EQ(run("train --checkpoint-dir a --metrics a.jsonl").status, 0);
  ASSERT_EQ(run("train --checkpoint-dir b --steps 20").status, 0);
  auto seal = [&](int64_t step, auto change) {
    std::string path = checkpoint("b", step) + "/manifest.json";
    auto json = nlohmann::ordered_json::parse(readFile(path));
    json.erase("hash");
    change(json);
    std::string text = json.dump(1);
    text.resize(text.size() - 2);
    text += fmt::format(",\n \"hash\": \"{:016x}\"\n}}\n", hashXxh64(text.data(), text.size()));
    std::ofstream(path, std::ios::binary) << text;
  };
  seal(20, [](auto &json) { json.erase("row_order"), json["sources"]["d"].erase("validation"); });
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.2, "val_seed": 0)"}});
  Outcome evaluated = run("eval --checkpoint b", "", "other"), expected = run("eval --checkpoint b");
  EXPECT_EQ(evaluated.output, expected.output);
  for (const char *steps : {"30", "40"}) {
    Outcome resumed = run(fmt::format("train --checkpoint-dir b --metrics b.jsonl --steps {}", steps), "", "other");
    EXPECT_EQ(resumed.status, 0) << resumed.output;
    EXPECT_NE(resumed.output.find("held out the last rows for validation, and the run goes on with them"),
              std::string::npos)
        << resumed.output;
  }
  expectEqualCheckpoints("a", "b", 40);
  seal(40, [](auto &json) { json["row_order"] = 3; });
  for (const char *command : {"train --steps 41 --checkpoint-dir b", "eval --checkpoint b"}) {
    Outcome newer = run(command, "", "other");
    EXPECT_EQ(newer.status, 1);
    EXPECT_NE(newer.output.find("it is of a newer version"), std::string::npos) << newer.output;
  }
}

TEST_F(LauncherResume, OtherRowsForValidationAreSaid) {
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.2, "val_seed": 0)"}});
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10", "", "other").status, 0);
  Outcome same = run("train --checkpoint-dir a --steps 12 --seed 9", "", "other");
  EXPECT_EQ(same.output.find("for validation changed"), std::string::npos) << same.output;
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.2, "val_seed": 1)"}});
  for (const char *command : {"train --checkpoint-dir a --steps 14", "eval --checkpoint a/step-00000012"}) {
    Outcome changed = run(command, "", "other");
    EXPECT_EQ(changed.status, 0) << changed.output;
    EXPECT_NE(changed.output.find("the rows of 'd' for validation changed from 0.2, seed 0 to 0.2, seed 1"),
              std::string::npos)
        << changed.output;
  }
}

TEST_F(LauncherResume, KilledRunsLoseNothing) {
  std::string untilSaved = "for i in $(seq 1000); do sleep 0.01; grep -q ^saved log && break; done; ";
  for (const char *after : {"0", "0.003", "0.011", "0.024"})
    whileRunning(untilSaved + "sleep " + after + "; kill -9 $p", "--set save.every=7");
  CheckpointFolder saved(folder / "a");
  ASSERT_FALSE(saved.steps().empty());
  int64_t end = saved.steps().back() + 9;
  std::string rest = fmt::format("--steps {} --quiet", end);
  ASSERT_EQ(run("train --checkpoint-dir a " + rest).status, 0);
  ASSERT_EQ(run("train --checkpoint-dir b " + rest).status, 0);
  expectEqualCheckpoints("a", "b", end);
  for (auto &entry : fs::directory_iterator(folder / "a"))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".tmp-")) << entry.path();
}

TEST_F(LauncherResume, DamagedCheckpointFallsBack) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  ASSERT_EQ(run("train --checkpoint-dir b").status, 0);
  std::string path = checkpoint("a", 40) + "/model.safetensors", bytes = readFile(path);
  bytes[bytes.size() - 3] ^= 4;
  std::ofstream(path, std::ios::binary) << bytes;
  Outcome resumed = run("train --checkpoint-dir a");
  EXPECT_EQ(resumed.status, 0) << resumed.output;
  EXPECT_NE(resumed.output.find("resumed at step 30"), std::string::npos) << resumed.output;
  expectEqualCheckpoints("a", "b", 40);
}

TEST_F(LauncherResume, AllCommandsFallBackToIntactCheckpoints) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  ASSERT_EQ(run("export good.safetensors --checkpoint a/step-00000030").status, 0);
  fs::resize_file(checkpoint("a", 40) + "/model.safetensors", 50);
  ASSERT_EQ(run("export fallen.safetensors --checkpoint a").status, 0);
  EXPECT_EQ(readFile(folder / "good.safetensors"), readFile(folder / "fallen.safetensors"));
  Outcome init = run("train --init a --steps 0 --checkpoint-dir b");
  ASSERT_EQ(init.status, 0) << init.output;
  EXPECT_EQ(readFile(folder / "good.safetensors"), readFile(checkpoint("b", 0) + "/model.safetensors"));
  EXPECT_EQ(run("train --init a/step-00000040 --steps 0 --checkpoint-dir c").status, 1);
  Outcome resumed = run("train --resume a --checkpoint-dir c");
  EXPECT_NE(resumed.output.find("resumed at step 30"), std::string::npos) << resumed.output;
  Outcome missing = run("train --init nowhere --checkpoint-dir d");
  EXPECT_NE(missing.output.find("--init nowhere"), std::string::npos) << missing.output;
}

TEST_F(LauncherResume, AdviceIsThatOfTheCommand) {
  ASSERT_EQ(run("train --steps 10").status, 0);
  for (int64_t step : CheckpointFolder(folder / "line-checkpoints").steps())
    fs::resize_file(checkpoint("line-checkpoints", step) + "/model.safetensors", 50);
  struct Case {
    const char *command, *advice;
  };
  for (auto [command, advice] :
       {Case{"eval", "give --checkpoint another checkpoint, or weights"},
        {"predict --data line.csv", "give --checkpoint another checkpoint, or weights"},
        {"generate", "give --checkpoint another checkpoint, or weights"},
        {"import line-checkpoints -o a", "give import another checkpoint, or weights"},
        {"train --init line-checkpoints --checkpoint-dir b", "give --init another checkpoint, or weights"},
        {"train --resume line-checkpoints --checkpoint-dir c", "give --resume another checkpoint"},
        {"train", "start again in another --checkpoint-dir"}}) {
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 1) << command;
    std::string said = fmt::format("line-checkpoints are damaged; {}\n", advice);
    EXPECT_NE(outcome.output.find(said), std::string::npos) << command << ": " << outcome.output;
  }
}

TEST_F(LauncherResume, AbandonedBranchIsNotResumed) {
  ASSERT_EQ(run("train --checkpoint-dir a --set save.keep=2").status, 0); // 30 and 40 are left
  std::string rest = "train --checkpoint-dir a --resume a/step-00000030 --steps 37 --set save.keep=2";
  Outcome branch = run(rest + " --set save.every=3");
  ASSERT_EQ(branch.status, 0) << branch.output;
  EXPECT_NE(branch.output.find("note: the checkpoint of a later step is now called abandoned-step-*, since this run "
                               "resumes at step "),
            std::string::npos)
      << branch.output;
  EXPECT_EQ(CheckpointFolder(folder / "a").steps(), (std::vector<int64_t>{36, 37}));
  EXPECT_TRUE(fs::exists(folder / "a/abandoned-step-00000040"));
  EXPECT_NE(run("train --checkpoint-dir a").output.find("resumed at step 37"), std::string::npos);
}

TEST_F(LauncherResume, MetricsAreTruncatedToTheCheckpoint) {
  ASSERT_EQ(run("train --checkpoint-dir a --metrics whole.jsonl").status, 0);
  ASSERT_EQ(run("train --checkpoint-dir b --metrics cut.jsonl --steps 35").status, 0);
  fs::remove_all(checkpoint("b", 35));
  std::ofstream(folder / "cut.jsonl", std::ios::app) << "{\"step\":36,\"spl";
  ASSERT_EQ(run("train --checkpoint-dir b --metrics cut.jsonl").status, 0);
  auto withoutTime = [&](const std::string &name) {
    std::string text;
    std::ifstream file(folder / name);
    for (std::string line; std::getline(file, line);) {
      auto record = nlohmann::json::parse(line);
      record.erase("seconds");
      text += record.dump() + "\n";
    }
    return text;
  };
  EXPECT_EQ(withoutTime("whole.jsonl"), withoutTime("cut.jsonl"));
}

TEST_F(LauncherResume, EvaluationOfStepZeroStays) {
  ASSERT_EQ(run("train --checkpoint-dir a --metrics m.jsonl --steps 0").status, 0);
  std::string evaluation = readFile(folder / "m.jsonl");
  ASSERT_NE(evaluation.find("\"split\":\"val\""), std::string::npos) << evaluation;
  ASSERT_EQ(run("train --checkpoint-dir a --metrics m.jsonl --steps 2").status, 0);
  EXPECT_TRUE(readFile(folder / "m.jsonl").starts_with(evaluation)) << readFile(folder / "m.jsonl");
  // A run that begins at step 0 takes the place of the one before.
  ASSERT_EQ(run("train --checkpoint-dir b --metrics m.jsonl --steps 1").status, 0);
  std::string again = readFile(folder / "m.jsonl");
  EXPECT_EQ(again.find("\"step\":2"), std::string::npos) << again;
  EXPECT_EQ(again.find("\"step\":0", again.find("\"step\":0") + 1), std::string::npos) << again;
}

TEST_F(LauncherResume, FolderInUseIsRefused) {
  whileRunning(*shared / "line" + " train --checkpoint-dir a > second 2>&1; echo status $? >> second; kill -9 $p");
  std::string second = readFile(folder / "second");
  EXPECT_NE(second.find("in use by another run"), std::string::npos) << second;
  EXPECT_NE(second.find("status 1"), std::string::npos) << second;
}

} // namespace
