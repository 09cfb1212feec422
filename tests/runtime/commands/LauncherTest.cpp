// The launcher: its commands, options, signals and errors.

#include "LauncherFixture.h"
#include "tests/runtime/data/FileContents.h"

using namespace tessera::tests;

namespace {

class Launcher : public LauncherFixture {};

TEST_F(Launcher, BareLauncherExplainsItself) {
  std::string command = fmt::format("{} > {} 2>&1", TESSERA_LAUNCHER, folder / "out");
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
  EXPECT_NE(readFile(folder / "out").find("launcher"), std::string::npos);
}

TEST_F(Launcher, UsageErrorsExitWithTwo) {
  EXPECT_EQ(run("").status, 2);
  EXPECT_EQ(run("--help").status, 0);
  EXPECT_EQ(run("train --nonsense").status, 2);
  Outcome unknown = run("train --set evaluate.evry=3");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_NE(unknown.output.find("did you mean 'evaluate.every'"), std::string::npos) << unknown.output;
  EXPECT_EQ(run("train --set evaluate.every=often").status, 2);
  Outcome command = run("foo --bar");
  EXPECT_EQ(command.status, 2);
  EXPECT_NE(command.output.find("unknown command 'foo'; expected one of train, eval"), std::string::npos)
      << command.output;
  for (const char *empty :
       {"train --init", "train --checkpoint-dir", "train --metrics", "train --profile", "train --tensorboard",
        "train --resume", "eval --checkpoint", "import -o", "info --data", "train --data", "eval --data",
        "predict --data", "predict --data line.csv --output", "train --map", "generate --tokenizer"}) {
    Outcome outcome = run(fmt::format("{} \"\"", empty));
    EXPECT_EQ(outcome.status, 2) << empty;
    EXPECT_NE(outcome.output.find("expected a path, got nothing"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("error: -"), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(run("info --data x=").status, 2);
  Outcome source = run("info --data e=line.csv");
  EXPECT_EQ(source.status, 2);
  EXPECT_NE(source.output.find("'e' is neither a data source, a field nor a split of this program; its sources: d\n"),
            std::string::npos)
      << source.output;
  for (auto [arguments, said] :
       {std::pair("train --lr 0.1", "train: unexpected arguments --lr 0.1; train --help lists"),
        {"train --stepz 3", "train: unexpected arguments --stepz 3; did you mean --steps?"},
        {"export", "export: name the file: export FILE.safetensors"},
        {"import", "import: name the file: import FILE.safetensors"}}) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_NE(outcome.output.find(said), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(run("train", "WORLD_SIZE=2").status, 2);
  EXPECT_EQ(run("train", "SLURM_STEP_NUM_TASKS=2").status, 2);
}

TEST_F(Launcher, ArgumentsArePrintedWithoutControlCharacters) {
  for (const char *arguments :
       {"train --threads $'\\e[31m'", "train --steps $'1\\e[31m'", "generate --top-p $'\\e[31m'", "$'\\e[31m'",
        "train $'\\e[31m'", "predict --data line.csv -o $'\\e[31m'", "train --set $'\\e[31m=1'", "export $'\\e[31m'",
        "train --metrics $'no/\\e[31m\\n'", "train --checkpoint-dir $'/proc/\\e[31m\\n'",
        "train --profile $'no/\\e[31m'", "train --data $'\\e[31m'", "eval --checkpoint $'\\e[31m'"}) {
    folder.write("script.sh", fmt::format("cd {} && {} {} > out 2>&1", folder.path, *shared / "line", arguments));
    int status = WEXITSTATUS(std::system(fmt::format("bash {}", folder / "script.sh").c_str()));
    std::string output = readFile(folder / "out");
    EXPECT_TRUE(status == 1 || status == 2) << arguments;
    EXPECT_EQ(output.find('\x1b'), std::string::npos) << arguments;
    EXPECT_NE(output.find("\\x1b[31m"), std::string::npos) << arguments << output;
  }
}

TEST_F(Launcher, NumericOptionsAreChecked) {
  struct Case {
    const char *arguments, *said;
  };
  for (auto [arguments, said] :
       {Case{"train --seed -1", "--seed: expected a whole number of at least 0, got -1"},
        {"train --steps -5", "--steps: expected a whole number of at least 0, got -5"},
        {"train --log-every -3", "--log-every: expected a whole number of at least 1, got -3"},
        {"train --threads 5000", "expected a whole number from 1 to 4096, got 5000"},
        {"generate --temperature nan", "expected a number of at least 0, got nan"},
        {"generate --top-p 1.5", "expected a number from 0 to 1, got 1.5"},
        {"train --set evaluate.on=test", "expected val or train"},
        {"train --set stop.after=9223372036854775808", "expected a whole number of at most"}}) {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2) << arguments;
    EXPECT_NE(outcome.output.find(said), std::string::npos) << outcome.output;
  }
}

TEST_F(Launcher, ClosedPipesDoNotEndTheRun) {
  std::string piped = fmt::format("cd {} && ({} train --checkpoint-dir b --log-every 1; echo $? > status) | head -1",
                                  folder.path, *shared / "line");
  EXPECT_EQ(std::system(fmt::format("bash -c '{}' > /dev/null 2>&1", piped).c_str()), 0);
  EXPECT_EQ(readFile(folder / "status"), "0\n");
  EXPECT_EQ(CheckpointFolder(folder / "b").steps().back(), 40);
}

TEST_F(Launcher, ClosedStreamsAreNotReusedForFiles) {
  std::string closed =
      fmt::format("cd {} && {} train --checkpoint-dir a --metrics m.jsonl <&- >&- 2>&-", folder.path, *shared / "line");
  EXPECT_EQ(WEXITSTATUS(std::system(closed.c_str())), 0);
  std::ifstream metrics(folder / "m.jsonl");
  for (std::string line; std::getline(metrics, line);) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

TEST_F(Launcher, TrainsAndLearns) {
  Outcome train = run("train --steps 400 --metrics m.jsonl");
  ASSERT_EQ(train.status, 0) << train.output;
  std::ifstream metrics(folder / "m.jsonl");
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(metrics, line);) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 400 + 41u);
  EXPECT_EQ(records[0]["split"], "val");
  EXPECT_EQ(records[0]["step"], 0);
  EXPECT_EQ(records[1]["samples"], 4);
  EXPECT_EQ(records.back()["split"], "val");
  EXPECT_LT(records.back()["losses"]["squared"].get<double>(), 0.01 * records[0]["losses"]["squared"].get<double>());
  Outcome eval = run("eval");
  EXPECT_EQ(eval.status, 0) << eval.output;
  EXPECT_NE(eval.output.find(fmt::format("squared {:.9g}", records.back()["losses"]["squared"].get<double>())),
            std::string::npos)
      << eval.output;
  EXPECT_NE(eval.output.find("rows 10"), std::string::npos); // a fifth of 50: the last batch is partial
}

#ifdef TESSERA_MALLOC_HOOKS // else a sanitizer reserves all addresses
TEST_F(Launcher, RefusedMemoryIsAnErrorThatSaysWhatToDo) {
  // The table takes twice the memory of the file, which is mapped before: 8 MB more, several steps of the limit below.
  std::string lines = "a,b,c,y0,y1\n";
  for (int i = 0; i < 800'000; ++i) lines += "1,1,1,1,1\n";
  folder.write("line.csv", lines);
  bool isSaid = false;
  int status = 1;
  for (int mebibytes = 40; mebibytes <= 400 && status != 0; mebibytes += 2) {
    Outcome limited = run("train --steps 1 --quiet --checkpoint-dir a", fmt::format("ulimit -v {};", mebibytes << 10));
    status = limited.status;
    isSaid |= status == 1 && limited.output.starts_with("error: not enough memory: ") &&
              limited.output.find("ulimit -v") != std::string::npos;
    EXPECT_FALSE(limited.output.starts_with("error: std::bad_alloc")) << mebibytes;
  }
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(isSaid);
}
#endif

TEST_F(Launcher, NothingAllocatesInsideSteps) {
  Outcome train = run("train --steps 200 --quiet", "TESSERA_COUNT_ALLOCATIONS=1");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_NE(train.output.find("allocations inside steps: 0\n"), std::string::npos) << train.output;
}

TEST_F(Launcher, SignalStopsAndSaves) {
  ASSERT_EQ(whileRunning("kill $p", "--set save.every=0"), 75) << readFile(folder / "log");
  CheckpointFolder saved(folder / "a");
  ASSERT_EQ(saved.steps().size(), 1u);
  int64_t end = saved.steps()[0] + 25;
  std::string rest = fmt::format("--steps {} --quiet --set evaluate.every=0 --set save.every=0", end);
  ASSERT_EQ(run("train --checkpoint-dir a " + rest).status, 0);
  ASSERT_EQ(run("train --checkpoint-dir b " + rest).status, 0);
  expectEqualCheckpoints("a", "b", end);
  EXPECT_EQ(run("train --resume never --checkpoint-dir a").status, 1);
}

TEST_F(Launcher, Usr1SavesAndContinues) {
  std::string untilSaved =
      "kill -USR1 $p; for i in $(seq 1000); do sleep 0.01; grep -q ^saved log && break; done; kill $p";
  EXPECT_EQ(whileRunning(untilSaved, "--set save.every=0"), 75) << readFile(folder / "log");
  EXPECT_EQ(CheckpointFolder(folder / "a").steps().size(), 2u);
}

TEST_F(Launcher, Usr1BeforeTheRunSavesItsFirstStep) {
  std::string script =
      fmt::format("cd {} && exec env --block-signal=USR1 sh -c 'kill -USR1 $$; exec {} train --steps 3 "
                  "--quiet --checkpoint-dir a --set save.every=0 --set evaluate.every=0'",
                  folder.path, *shared / "line");
  folder.write("script.sh", script);
  EXPECT_EQ(WEXITSTATUS(std::system(fmt::format("bash {}", folder / "script.sh").c_str())), 0);
  EXPECT_EQ(CheckpointFolder(folder / "a").steps(), (std::vector<int64_t>{1, 3}));
}

TEST_F(Launcher, HangupStopsAndSavesUnlessIgnored) {
  EXPECT_EQ(whileRunning("kill -HUP $p; kill -HUP $p", "--set save.every=0"), 75) << readFile(folder / "log");
  EXPECT_EQ(CheckpointFolder(folder / "a").steps().size(), 1u);
  // Not the same log: its lines would be there before `nohup` ignores the signal.
  std::string script =
      fmt::format("cd {}\nnohup {} train --checkpoint-dir b --steps 2000000000 --set evaluate.every=0 > "
                  "ignoring 2>&1 &\np=$!\nuntil grep -qs '^step [0-9]*/' ignoring; do sleep 0.01; done\n"
                  "kill -HUP $p; sleep 0.3; kill $p || exit 1; wait $p\n",
                  folder.path, *shared / "line");
  folder.write("script.sh", script);
  EXPECT_EQ(WEXITSTATUS(std::system(fmt::format("bash {} > /dev/null 2>&1", folder / "script.sh").c_str())), 75);
}

TEST_F(Launcher, DataPathsMayContainAnyBytes) {
  folder.write("caf\xe9.csv", csvLines(50));
  std::string train = "train --data caf\xe9.csv --checkpoint-dir a --metrics m.jsonl --steps ";
  Outcome first = run(train + "10");
  ASSERT_EQ(first.status, 0) << first.output;
  Outcome second = run(train + "20");
  EXPECT_EQ(second.status, 0) << second.output;
  EXPECT_EQ(second.output.find("the data changed"), std::string::npos) << second.output;
  Outcome changed = run("train --checkpoint-dir a --metrics m.jsonl --steps 30");
  EXPECT_EQ(changed.status, 0) << changed.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("the data changed"), std::string::npos);
}

TEST_F(Launcher, SkippingBatchesBeyond64BitsIsRefused) {
  for (const char *count : {"9223372036854775807", "4611686018427387904"}) {
    Outcome train = run(fmt::format("train --skip-batches {}", count), "timeout 20");
    EXPECT_EQ(train.status, 1) << train.output;
    EXPECT_NE(train.output.find("too far"), std::string::npos) << train.output;
  }
  EXPECT_EQ(run("train --skip-batches 1000000000000 --steps 1").status, 0);
}

TEST_F(Launcher, FailedSaveDoesNotEndTraining) {
  // Links are exchanged atomically: a folder that is moved away would be created again before the file takes its place.
  fs::create_directory(folder / "real");
  fs::create_symlink("real", folder / "a");
  std::string meanwhile = "touch file; ln -s file to-file; ln -s real back; mv -T to-file a; "
                          "until grep -q warning log; do sleep 0.01; done; mv -T back a; kill $p";
  EXPECT_EQ(whileRunning(meanwhile, "--set save.minutes=0.0005"), 75) << readFile(folder / "log");
  EXPECT_FALSE(CheckpointFolder(folder / "a").steps().empty());
  EXPECT_NE(readFile(folder / "log").find("training continues without this checkpoint"), std::string::npos);
}

TEST_F(Launcher, StopDoesNotWaitForEvaluation) {
  std::string rows;
  for (int i = 0; i < 300'000; ++i) rows += "1,2,3,4,5\n";
  folder.write("long.csv", rows);
  // $p has begun the evaluation at step 0, or is about to.
  std::string script =
      fmt::format("cd {}\n{} train --data val=long.csv --checkpoint-dir a --steps 0 > log 2>&1 &\np=$!\n"
                  "until grep -q 'one rank' log; do sleep 0.01; done; kill $p; wait $p\n",
                  folder.path, *shared / "line");
  folder.write("script.sh", script);
  EXPECT_EQ(WEXITSTATUS(std::system(fmt::format("bash {} > /dev/null 2>&1", folder / "script.sh").c_str())), 75);
  EXPECT_EQ(readFile(folder / "log").find("val:"), std::string::npos) << readFile(folder / "log");
  EXPECT_EQ(nlohmann::json::parse(readFile(checkpoint("a", 0) + "/manifest.json"))["evaluated"], false);
}

TEST_F(Launcher, EvaluatesOtherData) {
  ASSERT_EQ(run("train").status, 0);
  folder.write("other.csv", csvLines(7));
  Outcome eval = run("eval --data other.csv");
  EXPECT_EQ(eval.status, 0) << eval.output;
  EXPECT_NE(eval.output.find("rows 7\n"), std::string::npos) << eval.output;
  EXPECT_EQ(run("eval --checkpoint nowhere").status, 1);
}

TEST_F(Launcher, SourceWithoutValidationDataIsNamed) {
  programWith({{R"("data": "d", "field": "y")", R"("data": "e", "field": "y")"},
               {R"("data": [{"name": "d")", R"("data": [{"name": "e", "format": "csv", "batch": ["batch", 4],
                 "splits": {"train": ["line.csv"], "val": []}, "val_fraction": 0, "shuffle": true, "fields":
                 [{"name": "y", "type": "f32", "axes": [["output", 2]], "column": 3}]}, {"name": "d")"}});
  Outcome train = run("train --steps 1 --checkpoint-dir a", "", "other");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_NE(train.output.find("'e' has no validation data, so nothing is evaluated, although 'd' has some"),
            std::string::npos)
      << train.output;
  Outcome named = run("train --steps 1 --checkpoint-dir b --data e.val=line.csv", "", "other");
  EXPECT_EQ(named.status, 0) << named.output;
  EXPECT_NE(named.output.find("step 1  val:"), std::string::npos) << named.output;
}

/// Rows of ones; the first element of one of them is NaN.
static std::string npyOfOnes(int columns, int badRow = -1, int rows = 50) {
  std::vector<float> numbers(rows * columns, 1);
  if (badRow >= 0) numbers[badRow * columns] = NAN;
  return npyFile("<f4", fmt::format("({}, {})", rows, columns), bytesOf(numbers));
}

TEST_F(Launcher, DataErrorsLoseNoSteps) {
  programWith({{R"("format": "csv")", R"("format": "npy")"}, {R"("shuffle": true)", R"("shuffle": false)"}});
  folder.write("x.npy", npyOfOnes(3, 30));
  folder.write("y.npy", npyOfOnes(2));
  Outcome train = run("train --data x=x.npy --data y=y.npy --checkpoint-dir a --set save.every=0", "", "other");
  EXPECT_EQ(train.status, 1);
  EXPECT_NE(train.output.find("x.npy: byte 488 (row 30): value nan"), std::string::npos) << train.output;
  EXPECT_EQ(CheckpointFolder(folder / "a").steps(), std::vector<int64_t>{7}); // rows 28 to 31 are the eighth batch
}

TEST_F(Launcher, DataFileThatIsCutShortEndsTheRun) {
  programWith({{R"("format": "csv")", R"("format": "npy")"}});
  std::string bytes = npyOfOnes(3);
  for (size_t left : {bytes.size() - 1, bytes.size() / 2}) {
    folder.write("x.npy", bytes);
    folder.write("y.npy", npyOfOnes(2));
    int status = whileRunning(fmt::format("truncate -s {} x.npy", left), "--data x=x.npy --data y=y.npy", "other");
    std::string said = readFile(folder / "log");
    EXPECT_EQ(status, 1) << said;
    EXPECT_NE(said.find(fmt::format("error: x.npy: the file was changed while it was read: it had {} bytes and has {}",
                                    bytes.size(), left)),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("saved a/step-"), std::string::npos) << said;
  }
  // Whole pages are gone: reading them raises a signal.
  folder.write("x.npy", npyOfOnes(3, -1, 5000));
  folder.write("y.npy", npyOfOnes(2, -1, 5000));
  EXPECT_EQ(whileRunning("truncate -s 5000 x.npy", "--data x=x.npy --data y=y.npy", "other"), 1);
  std::string said = readFile(folder / "log");
  EXPECT_NE(said.find("error: x.npy: "), std::string::npos) << said;
  EXPECT_NE(said.find("saved a/step-"), std::string::npos) << said;
}

TEST_F(Launcher, MistakesInDataAreWarnedOf) {
  Outcome train = run("train --steps 1 --data val=line.csv");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_NE(train.output.find("warning: data 'd': the validation file line.csv is a training file"), std::string::npos)
      << train.output;
  folder.write("few.csv", csvLines(3));
  train = run("train --steps 1 --quiet --data few.csv --data val=line.csv --checkpoint-dir b");
  EXPECT_NE(train.output.find("warning: a batch has 4 rows, the training data of 'd' only 3"), std::string::npos)
      << train.output;
}

TEST_F(Launcher, GuessedAxesAreNoted) {
  // The same memory, as rows of 2 x 3 and 2 x 2.
  programWith({{R"([["batch", 4], ["feature", 3]])", R"([["batch", 2], ["pair", 2], ["feature", 3]])"},
               {R"([["batch", 4], ["output", 2]])", R"([["batch", 2], ["pair", 2], ["output", 2]])"},
               {R"("axes": [["feature", 3]], "column")", R"("axes": [["pair", 2], ["feature", 3]], "column")"},
               {R"("axes": [["output", 2]], "column")", R"("axes": [["pair", 2], ["output", 2]], "column")"},
               {R"("format": "csv")", R"("format": "npy")"}});
  folder.write("x.npy", npyOfOnes(6));
  folder.write("y.npy", npyOfOnes(4));
  auto notes = [&](const std::string &command) {
    Outcome outcome = run(command, "", "other");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    std::string said;
    for (const char *file : {"x.npy", "y.npy"}) {
      std::string note = fmt::format("note: {}: the shape of the file is (rows, ", file);
      for (size_t at = 0; (at = outcome.output.find(note, at)) != std::string::npos; ++at) said += file[0];
    }
    return said;
  };
  EXPECT_EQ(notes("train --data x=x.npy --data y=y.npy --steps 1"), "xy");
  EXPECT_EQ(notes("eval --data x=x.npy --data y=y.npy"), "xy");
  EXPECT_EQ(notes("predict --data x.npy --output p.npy"), "x");
}

TEST_F(Launcher, RunThatFailsEarlyLeavesTheMetrics) {
  std::string old = "{\"step\":1,\"split\":3}\n{\"step\":\"x\"}\n[7]\n";
  folder.write("m.jsonl", old);
  EXPECT_EQ(run("train --metrics m.jsonl --data val=missing.csv").status, 1);
  EXPECT_EQ(readFile(folder / "m.jsonl"), old);
  Outcome train = run("train --metrics m.jsonl --steps 1");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_EQ(readFile(folder / "m.jsonl").find("x"), std::string::npos);
}

TEST_F(Launcher, DivergenceExitsWithThree) {
  writeDiverging();
  Outcome train = run("train");
  EXPECT_EQ(train.status, 3);
  EXPECT_NE(train.output.find("not finite 10 steps in a row"), std::string::npos) << train.output;
  EXPECT_NE(train.output.find("the first time at step 1, in the loss 'squared'"), std::string::npos) << train.output;
}

TEST_F(Launcher, DataErrorsExitWithOne) {
  EXPECT_EQ(run("train --data missing.csv").status, 1);
  folder.write("bad.csv", "1,2,3,4,5\n1,2,three,4,5\n");
  Outcome bad = run("train --data bad.csv");
  EXPECT_EQ(bad.status, 1);
  EXPECT_NE(bad.output.find("line 2, column 2, byte 14: field 'd.x': expected a number, got 'three'"),
            std::string::npos)
      << bad.output;
}

TEST_F(Launcher, InfoExportImportInit) {
  Outcome info = run("info");
  EXPECT_EQ(info.status, 0) << info.output;
  for (const char *word : {"[feature: 3, output: 2]", "65536", "6 parameters", "x w"})
    EXPECT_NE(info.output.find(word), std::string::npos) << word << "\n" << info.output;
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  ASSERT_EQ(run("export w.safetensors --checkpoint a").status, 0);
  EXPECT_EQ(readFile(folder / "w.safetensors"), readFile(checkpoint("a", 40) + "/model.safetensors"));
  ASSERT_EQ(run("import w.safetensors -o b").status, 0);
  EXPECT_EQ(readFile(folder / "w.safetensors"), readFile(checkpoint("b", 0) + "/model.safetensors"));
  ASSERT_EQ(run("train --init w.safetensors --steps 0 --checkpoint-dir c").status, 0);
  EXPECT_EQ(readFile(folder / "w.safetensors"), readFile(checkpoint("c", 0) + "/model.safetensors"));
  SafetensorsFile file(folder / "w.safetensors");
  EXPECT_EQ(file.find("w")->shape, (std::vector<int64_t>{3, 2}));
}

TEST_F(Launcher, InfoSaysWhyDataCannotBeRead) {
  folder.write("bad.csv", "1,2,3,4,5\n1,2,three,4,5\n");
  for (auto [path, said] : {std::pair("missing.csv", "no data file matches missing.csv; name one with --data"),
                            {"bad.csv", "bad.csv: line 2, column 2, byte 14: field 'd.x': expected a number"}}) {
    Outcome info = run(fmt::format("info --data {}", path));
    EXPECT_EQ(info.status, 0) << info.output;
    EXPECT_NE(info.output.find(fmt::format("?  {}", said)), std::string::npos) << info.output;
    EXPECT_EQ(info.output.find("do not exist"), std::string::npos) << info.output;
  }
}

TEST_F(Launcher, Generates) {
  ASSERT_EQ(run("train --steps 1").status, 0);
  Outcome text = run("generate --prompt-tokens 3 --length 6 --temperature 0");
  EXPECT_EQ(text.status, 0) << text.output;
  EXPECT_EQ(run("generate --prompt-tokens 9").status, 2);
}

TEST_F(Launcher, GeneratesTextWithATokenizer) {
  ASSERT_EQ(run("train --steps 1").status, 0);
  auto writeTokenizer = [&](const std::string &vocabulary) {
    folder.write("tokenizer.json", R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {)" +
                                       vocabulary + R"(}, "merges": ["a b"]}})");
  };
  writeTokenizer(R"("a": 0, "b": 1, "c": 2, "\u0120": 3, "ab": 4)");
  Outcome text = run("generate --tokenizer tokenizer.json --prompt 'cab' --length 4 --temperature 0");
  EXPECT_EQ(text.status, 0) << text.output;
  EXPECT_EQ(text.output, "cababc \n"); // c ab, then each token + 1
  EXPECT_EQ(run("generate --tokenizer . --prompt ab --length 1 --temperature 0").output, "aba\n");
  Outcome byte = run("generate --tokenizer tokenizer.json --prompt 'x'");
  EXPECT_EQ(byte.status, 1);
  EXPECT_NE(byte.output.find("the vocabulary has no token for the byte 0x78"), std::string::npos) << byte.output;
  EXPECT_EQ(run("generate --tokenizer tokenizer.json").status, 2);
  writeTokenizer(R"("a": 0, "b": 1, "ab": 5)");
  Outcome large = run("generate --tokenizer tokenizer.json --prompt ab");
  EXPECT_EQ(large.status, 1);
  EXPECT_NE(large.output.find("has tokens up to 5, the model takes 0 to 4"), std::string::npos) << large.output;
}

TEST_F(Launcher, DamagedProgramIsRefused) {
  std::string good = readFile(*shared / "line");
  auto expectRefused = [&](const std::string &bytes, const char *said) {
    std::ofstream(*shared / "damaged", std::ios::binary) << bytes;
    fs::permissions(*shared / "damaged", fs::perms::owner_all);
    Outcome outcome = run("info", "", "damaged");
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_NE(outcome.output.find(said), std::string::npos) << outcome.output;
  };
  for (const char *part : {"\"path\": \"w\"", "\"compiler\"", "tsr_entry_step"}) {
    std::string bytes = good;
    bytes[bytes.rfind(part) + 9] ^= 1;
    expectRefused(bytes, "damaged");
  }
  expectRefused(good.substr(0, good.size() - 5), "truncated");
  expectRefused(good.substr(0, good.size() - 4000), "truncated");
}

} // namespace
