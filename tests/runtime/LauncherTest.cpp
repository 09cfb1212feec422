// The launcher with a program that no compiler made: a linear regression in C.

#include "TemporaryFolder.h"
#include "runtime/Payload.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

using namespace tessera::runtime;
using namespace tessera::tests;

namespace fs = std::filesystem;

namespace {

const char *manifestText = R"({
  "abi": 2, "compiler": "by hand", "model": "line",
  "target": {"kind": "cpu", "march": "x86-64", "features": ["sse2"], "threads": 2},
  "arena": {"bytes": 65536, "workspace": {"offset": 4096, "bytes": 61440}},
  "state": [
    {"path": "w", "kind": "weight", "type": "f32", "axes": [["output", 2], ["feature", 3]],
     "canonical": ["feature", "output"], "offset": 0, "bytes": 24},
    {"path": "w.momentum", "kind": "moment", "type": "f32", "axes": [["output", 2], ["feature", 3]],
     "canonical": ["feature", "output"], "offset": 64, "bytes": 24},
    {"path": "step", "kind": "counter", "type": "i32", "axes": [], "canonical": [], "offset": 128, "bytes": 4},
    {"path": "seed", "kind": "counter", "type": "i64", "axes": [], "canonical": [], "offset": 192, "bytes": 8}],
  "entries": {
    "init": {"inputs": [{"name": "seed", "role": "seed", "type": "i64", "axes": [], "offset": 256, "bytes": 8}], "outputs": []},
    "step": {"inputs": [
        {"name": "x", "role": "data", "data": "d", "field": "x", "type": "f32", "axes": [["batch", 4], ["feature", 3]], "of": null, "offset": 320, "bytes": 48},
        {"name": "y", "role": "data", "data": "d", "field": "y", "type": "f32", "axes": [["batch", 4], ["output", 2]], "of": null, "offset": 384, "bytes": 32}],
      "outputs": [
        {"name": "squared", "role": "loss", "type": "f32", "axes": [], "offset": 512, "bytes": 4},
        {"name": "grad_norm", "role": "grad_norm", "type": "f32", "axes": [], "offset": 576, "bytes": 4},
        {"name": "finite", "role": "finite", "type": "i32", "axes": [], "offset": 640, "bytes": 4},
        {"name": "rate", "role": "rate", "type": "f32", "axes": [], "offset": 704, "bytes": 4}],
      "flops": 48, "bytes": 200},
    "evaluate": {"inputs": [
        {"name": "x", "role": "data", "data": "d", "field": "x", "type": "f32", "axes": [["batch", 4], ["feature", 3]], "of": null, "offset": 320, "bytes": 48},
        {"name": "y", "role": "data", "data": "d", "field": "y", "type": "f32", "axes": [["batch", 4], ["output", 2]], "of": null, "offset": 384, "bytes": 32},
        {"name": "weight", "role": "weight", "type": "f32", "axes": [["batch", 4]], "offset": 768, "bytes": 16}],
      "outputs": [
        {"name": "squared", "role": "loss", "type": "f32", "axes": [], "offset": 512, "bytes": 4},
        {"name": "squared", "role": "count", "type": "f32", "axes": [], "offset": 832, "bytes": 4}]},
    "predict": {"inputs": [{"name": "tokens", "role": "argument", "type": "i32", "axes": [["batch", 1], ["seq", 4]], "of": 5, "offset": 896, "bytes": 16}],
      "outputs": [{"name": "scores", "role": "result", "type": "f32", "axes": [["batch", 1], ["seq", 4], ["vocab", 5]], "offset": 960, "bytes": 80}]}},
  "gemms": [{"name": "x w", "type": "f32", "dims_a": [4, 3], "strides_a": [3, 1], "dims_b": [3, 2], "strides_b": [1, 3],
             "dims_c": [4, 2], "strides_c": [2, 1], "bias": null, "accumulate": false, "scratch": 0}],
  "data": [{"name": "d", "format": "csv", "batch": ["batch", 4], "splits": {"train": ["line.csv"], "val": []},
            "val_fraction": 0.2, "shuffle": true,
            "fields": [{"name": "x", "type": "f32", "axes": [["feature", 3]], "column": 0},
                       {"name": "y", "type": "f32", "axes": [["output", 2]], "column": 3}]}],
  "settings": {"evaluate": {"every": 10}, "save": {"every": 10, "keep": 3}, "stop": {"after": 40}},
  "plan": {"buffers": [{"name": "w", "entry": "*", "kind": "state", "offset": 0, "bytes": 24}],
           "kernels": [{"name": "update", "entry": "step", "count": 1}]}
})";

/// y0 = x0 - 2 x1 + 0.5 x2, y1 = 3 x2.
std::string csvLines(int rows) {
  std::string text = "a,b,c,\"y0\",y1\n";
  for (int i = 0; i < rows; ++i) {
    double a = (i * 7 % 11) / 11.0, b = (i * 5 % 13) / 13.0, c = (i * 3 % 17) / 17.0;
    text += fmt::format("{},\"{}\",{},{},{}\n", a, b, c, a - 2 * b + 0.5 * c, 3 * c);
  }
  return text;
}

struct Outcome {
  int status;
  std::string output;
};

class Launcher : public testing::Test {
protected:
  static void SetUpTestSuite() {
    shared = new TemporaryFolder;
    std::string root = TESSERA_SOURCE_DIR;
    std::string source = root + "/tests/runtime/linear_regression.c";
    std::string object = *shared / "program.so";
    std::string compile = fmt::format("{} -O2 -shared -fPIC -nostdlib -ffreestanding -fuse-ld=lld -I{} {} -o {}",
                                      TESSERA_C_COMPILER, root, source, object);
    ASSERT_EQ(std::system(compile.c_str()), 0) << compile;
    ASSERT_EQ(writeTrainingProgram(TESSERA_LAUNCHER, readFile(object), manifestText, *shared / "line"), "");
  }
  static void TearDownTestSuite() { delete shared; }

  void SetUp() override { folder.write("line.csv", csvLines(50)); }

  Outcome run(const std::string &arguments, const std::string &prefix = "", const std::string &program = "line") {
    std::string command =
        fmt::format("cd {} && {} {} {} > out 2>&1", folder.path, prefix, *shared / program, arguments);
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "out")};
  }

  /// Starts an endless run in folder `a`, waits until it steps, and runs `script`, in which $p is its process.
  /// Returns the run's exit status.
  int whileRunning(const std::string &script, const std::string &options = "") {
    std::string start = fmt::format("cd {}\nrm -f log\n{} train --checkpoint-dir a --steps 2000000000 --set "
                                    "evaluate.every=0 {} > log 2>&1 &\np=$!\n"
                                    "for i in $(seq 1000); do sleep 0.01; grep -q '^step [0-9]*/' log && break; done\n",
                                    folder.path, *shared / "line", options);
    folder.write("script.sh", start + script + "\nwait $p\n");
    return WEXITSTATUS(std::system(fmt::format("bash {} > /dev/null 2>&1", folder / "script.sh").c_str()));
  }

  /// Makes the program "other": that of "line" with changes in its manifest.
  void programWith(const std::vector<std::pair<std::string, std::string>> &changes) {
    Payload payload;
    std::string message;
    ASSERT_EQ(readPayload(*shared / "line", payload, message), PayloadStatus::Found);
    for (const auto &[from, to] : changes)
      for (size_t at = 0; (at = payload.manifest.find(from, at)) != std::string::npos; at += to.size())
        payload.manifest.replace(at, from.size(), to);
    ASSERT_EQ(writeTrainingProgram(TESSERA_LAUNCHER, payload.object, payload.manifest, *shared / "other"), "");
  }

  std::string checkpoint(const std::string &dir, int64_t step) {
    return folder / fmt::format("{}/step-{:08}", dir, step);
  }

  void expectEqualCheckpoints(const std::string &a, const std::string &b, int64_t step) {
    for (const char *file : {"/model.safetensors", "/optimizer.safetensors"}) {
      std::string left = readFile(checkpoint(a, step) + file), right = readFile(checkpoint(b, step) + file);
      EXPECT_FALSE(left.empty());
      EXPECT_TRUE(left == right) << file << " differs between " << a << " and " << b;
    }
    auto position = [&](const std::string &dir) {
      return nlohmann::json::parse(readFile(checkpoint(dir, step) + "/manifest.json"))["position"].get<int64_t>();
    };
    EXPECT_EQ(position(a), position(b));
  }

  static TemporaryFolder *shared;
  TemporaryFolder folder;
};
TemporaryFolder *Launcher::shared;

TEST_F(Launcher, WithoutProgramSaysWhatItIs) {
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
  EXPECT_EQ(run("train --tensorboard x").status, 2);
  EXPECT_EQ(run("train", "WORLD_SIZE=2").status, 2);
  EXPECT_EQ(run("train", "SLURM_STEP_NUM_TASKS=2").status, 2);
}

TEST_F(Launcher, NumbersOfTheCommandLineAreChecked) {
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

TEST_F(Launcher, ReadersThatGoAwayEndNothing) {
  std::string piped = fmt::format("cd {} && ({} train --checkpoint-dir b --log-every 1; echo $? > status) | head -1",
                                  folder.path, *shared / "line");
  EXPECT_EQ(std::system(fmt::format("bash -c '{}' > /dev/null 2>&1", piped).c_str()), 0);
  EXPECT_EQ(readFile(folder / "status"), "0\n");
  EXPECT_EQ(CheckpointFolder(folder / "b").steps().back(), 40);
}

TEST_F(Launcher, ClosedStreamsAreNoFiles) {
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

TEST_F(Launcher, NothingAllocatesInsideSteps) {
  Outcome train = run("train --steps 200 --quiet", "TESSERA_COUNT_ALLOCATIONS=1");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_NE(train.output.find("allocations inside steps: 0\n"), std::string::npos) << train.output;
}

TEST_F(Launcher, ResumedRunEqualsUninterrupted) {
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

TEST_F(Launcher, Usr1SavesAndGoesOn) {
  std::string untilSaved =
      "kill -USR1 $p; for i in $(seq 1000); do sleep 0.01; grep -q ^saved log && break; done; kill $p";
  EXPECT_EQ(whileRunning(untilSaved, "--set save.every=0"), 75) << readFile(folder / "log");
  EXPECT_EQ(CheckpointFolder(folder / "a").steps().size(), 2u);
}

TEST_F(Launcher, DataPathsMayHoldAnyBytes) {
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

TEST_F(Launcher, SkippingMoreBatchesThanThereAreNumbersIsRefused) {
  for (const char *count : {"9223372036854775807", "4611686018427387904"}) {
    Outcome train = run(fmt::format("train --skip-batches {}", count), "timeout 20");
    EXPECT_EQ(train.status, 1) << train.output;
    EXPECT_NE(train.output.find("too far"), std::string::npos) << train.output;
  }
  EXPECT_EQ(run("train --skip-batches 1000000000000 --steps 1").status, 0);
}

TEST_F(Launcher, AnErrorOfSavingDoesNotEndTraining) {
  std::string meanwhile = "mv a b; until grep -q warning log; do sleep 0.01; done; mv b a; kill $p";
  EXPECT_EQ(whileRunning(meanwhile, "--set save.minutes=0.0005"), 75) << readFile(folder / "log");
  EXPECT_FALSE(CheckpointFolder(folder / "a").steps().empty());
  EXPECT_NE(readFile(folder / "log").find("training goes on without this checkpoint"), std::string::npos);
}

TEST_F(Launcher, AStopDoesNotWaitForAnEvaluation) {
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

TEST_F(Launcher, ResumesFromANamedCheckpoint) {
  ASSERT_EQ(run("train --checkpoint-dir a").status, 0);
  Outcome other = run("train --checkpoint-dir b --resume a/step-00000030 --metrics m.jsonl --set save.every=7");
  EXPECT_EQ(other.status, 0) << other.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("the settings changed"), std::string::npos);
  expectEqualCheckpoints("a", "b", 40);
}

TEST_F(Launcher, RunningAgainGoesOnFromWhatAResumedRunSaved) {
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

TEST_F(Launcher, OtherModelsAndBatchesAreRefusedAndOtherChangesNoted) {
  ASSERT_EQ(run("train --checkpoint-dir a --steps 10").status, 0);
  programWith({{R"("model": "line")", R"("model": "curve")"}});
  Outcome model = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(model.status, 1);
  EXPECT_NE(model.output.find("is of the model 'line', this program is 'curve'; --init"), std::string::npos)
      << model.output;
  programWith({{R"(["batch", 4])", R"(["batch", 2])"},
               {R"("offset": 320, "bytes": 48)", R"("offset": 320, "bytes": 24)"},
               {R"("offset": 384, "bytes": 32)", R"("offset": 384, "bytes": 16)"},
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
  EXPECT_NE(noted.output.find("compiled anew"), std::string::npos) << noted.output;
  EXPECT_NE(noted.output.find("what source 'd' holds changed from {\"rows\":40"), std::string::npos) << noted.output;
  EXPECT_NE(readFile(folder / "m.jsonl").find("compiled anew"), std::string::npos);
}

TEST_F(Launcher, KilledRunsLoseNothing) {
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

TEST_F(Launcher, DamagedCheckpointFallsBack) {
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

TEST_F(Launcher, FoldersFallBackForAllThatLoad) {
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

TEST_F(Launcher, AnAbandonedBranchIsNotTakenUpAgain) {
  ASSERT_EQ(run("train --checkpoint-dir a --set save.keep=2").status, 0); // 30 and 40 are left
  std::string rest = "train --checkpoint-dir a --resume a/step-00000030 --steps 37 --set save.keep=2";
  Outcome branch = run(rest + " --set save.every=3");
  ASSERT_EQ(branch.status, 0) << branch.output;
  EXPECT_NE(branch.output.find("abandoned"), std::string::npos) << branch.output;
  EXPECT_EQ(CheckpointFolder(folder / "a").steps(), (std::vector<int64_t>{36, 37}));
  EXPECT_TRUE(fs::exists(folder / "a/abandoned-step-00000040"));
  EXPECT_NE(run("train --checkpoint-dir a").output.find("resumed at step 37"), std::string::npos);
}

TEST_F(Launcher, MetricsAreCutBackToTheCheckpoint) {
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

TEST_F(Launcher, DataThatCannotBeReadLoseNoSteps) {
  programWith({{R"("format": "csv")", R"("format": "npy")"}, {R"("shuffle": true)", R"("shuffle": false)"}});
  auto writeNpy = [&](const std::string &name, int columns, int badRow) {
    std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': (50, {}), }}", columns);
    header.resize(118, ' ');
    std::vector<float> numbers(50 * columns, 1);
    if (badRow >= 0) numbers[badRow * columns] = NAN;
    folder.write(name, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
                           std::string(reinterpret_cast<char *>(numbers.data()), numbers.size() * 4));
  };
  writeNpy("x.npy", 3, 30);
  writeNpy("y.npy", 2, -1);
  Outcome train = run("train --data x=x.npy --data y=y.npy --checkpoint-dir a --set save.every=0", "", "other");
  EXPECT_EQ(train.status, 1);
  EXPECT_NE(train.output.find("x.npy: byte 488 (row 30): value nan"), std::string::npos) << train.output;
  EXPECT_EQ(CheckpointFolder(folder / "a").steps(), std::vector<int64_t>{7}); // rows 28 to 31 are the eighth batch
}

TEST_F(Launcher, ARunThatFailsAtOnceLeavesTheMetrics) {
  std::string old = "{\"step\":1,\"split\":3}\n{\"step\":\"x\"}\n[7]\n";
  folder.write("m.jsonl", old);
  EXPECT_EQ(run("train --metrics m.jsonl --data val=missing.csv").status, 1);
  EXPECT_EQ(readFile(folder / "m.jsonl"), old);
  Outcome train = run("train --metrics m.jsonl --steps 1");
  EXPECT_EQ(train.status, 0) << train.output;
  EXPECT_EQ(readFile(folder / "m.jsonl").find("x"), std::string::npos);
}

TEST_F(Launcher, DivergenceExitsWithThree) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "1,2,3,1e30,5\n"; // its square is infinite
  folder.write("line.csv", text);
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
  EXPECT_NE(bad.output.find("line 2, byte 14: expected a number, got 'three'"), std::string::npos) << bad.output;
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

TEST_F(Launcher, Generates) {
  ASSERT_EQ(run("train --steps 1").status, 0);
  Outcome text = run("generate --prompt-tokens 3 --length 6 --temperature 0");
  EXPECT_EQ(text.status, 0) << text.output;
  EXPECT_EQ(run("generate --prompt-tokens 9").status, 2);
}

TEST_F(Launcher, FolderInUseIsRefused) {
  whileRunning(*shared / "line" + " train --checkpoint-dir a > second 2>&1; echo status $? >> second; kill -9 $p");
  std::string second = readFile(folder / "second");
  EXPECT_NE(second.find("in use by another run"), std::string::npos) << second;
  EXPECT_NE(second.find("status 1"), std::string::npos) << second;
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
  expectRefused(good.substr(0, good.size() - 5), "cut short");
  expectRefused(good.substr(0, good.size() - 4000), "cut short");
}

} // namespace
