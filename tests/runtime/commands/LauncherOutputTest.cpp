// Outputs of a run: metrics, profile, checkpoints; and errors of writing them.

#include "LauncherFixture.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/train/Metrics.h"

using namespace tessera::tests;

namespace {

class LauncherOutput : public LauncherFixture {
protected:
  static bool has(const Outcome &outcome, const char *text) { return outcome.output.find(text) != std::string::npos; }
};

TEST_F(LauncherOutput, ProfilesFollowLinksAndUsePipes) {
  fs::create_symlink("real.json", folder / "link.json");
  ASSERT_EQ(run("train --steps 3 --quiet --profile link.json").status, 0);
  EXPECT_TRUE(fs::is_symlink(folder / "link.json"));
  EXPECT_EQ(nlohmann::json::parse(readFile(folder / "real.json"))["steps"], 3);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  Outcome piped =
      run("train --steps 3 --quiet --checkpoint-dir b --profile fifo", "{ timeout 20 cat fifo > read & } ; sleep 0.1;");
  EXPECT_EQ(piped.status, 0) << piped.output;
  EXPECT_TRUE(fs::is_fifo(folder / "fifo"));
  for (int i = 0; i < 100 && !nlohmann::json::accept(readFile(folder / "read")); ++i) usleep(10'000);
  EXPECT_EQ(nlohmann::json::parse(readFile(folder / "read"))["steps"], 3);
}

TEST_F(LauncherOutput, ProfilesThatCannotBeWrittenAreRefusedBeforeTraining) {
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const char *path : {"nowhere/p.json", "..", "fifo", "line.csv"}) {
    Outcome train = run(fmt::format("train --checkpoint-dir a --profile {}", path));
    EXPECT_EQ(train.status, 1) << path;
    EXPECT_TRUE(has(train, "--profile")) << train.output;
    EXPECT_TRUE(CheckpointFolder(folder / "a").steps().empty());
  }
}

TEST_F(LauncherOutput, NamesOfProfilesAreCheckedBeforeTraining) {
  std::string longest(255, 'x'), tooLong(256, 'x');
  EXPECT_EQ(run("train --steps 2 --quiet --checkpoint-dir a --profile " + longest).status, 0);
  EXPECT_TRUE(fs::exists(folder / longest));
  fs::create_symlink("round", folder / "round");
  for (const std::string &path : {tooLong, std::string("round")}) {
    Outcome train = run("train --steps 2 --quiet --checkpoint-dir b --profile " + path);
    EXPECT_EQ(train.status, 1) << train.output;
    EXPECT_TRUE(has(train, "error: cannot write --profile ")) << train.output;
    EXPECT_TRUE(CheckpointFolder(folder / "b").steps().empty());
  }
  EXPECT_EQ(run("train --steps 2 --profile -").status, 2);
}

TEST_F(LauncherOutput, MissingTerminalIsCalledThat) {
  for (const char *option : {"--metrics", "--profile"}) {
    Outcome train = run(fmt::format("train --steps 2 --quiet {} /dev/tty", option), "setsid -w");
    EXPECT_EQ(train.status, 1) << train.output;
    EXPECT_TRUE(has(train, "/dev/tty: this process has no terminal")) << train.output;
  }
}

TEST_F(LauncherOutput, FailedProfileLosesNoSteps) {
  fs::create_directory(folder / "p");
  auto vanish = "rmdir p; kill $p";
  EXPECT_EQ(whileRunning(vanish, "--set save.every=0 --profile p/p.json"), 75) << readFile(folder / "log");
  EXPECT_EQ(CheckpointFolder(folder / "a").steps().size(), 1u);
  EXPECT_NE(readFile(folder / "log").find("the profile is lost"), std::string::npos) << readFile(folder / "log");
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  Outcome unread = run("train --steps 300 --set evaluate.every=0 --set save.every=0 --checkpoint-dir b --profile fifo",
                       "{ timeout 20 bash -c 'exec 3<fifo' & } ; sleep 0.2;");
  EXPECT_EQ(unread.status, 1) << unread.output;
  EXPECT_TRUE(has(unread, "the profile is lost")) << unread.output;
  EXPECT_EQ(CheckpointFolder(folder / "b").steps(), std::vector<int64_t>{300});
}

TEST_F(LauncherOutput, MetricsDoNotReplaceOtherFiles) {
  folder.write("thesis.tex", "\\documentclass{book}\n{\"step\":1}\n");
  folder.write("list.json", "[{\"step\":1}]\n");
  for (const char *path : {"thesis.tex", "list.json", "line.csv"}) {
    std::string before = readFile(folder / path);
    Outcome train = run(fmt::format("train --steps 1 --checkpoint-dir a --metrics {}", path));
    EXPECT_EQ(train.status, 1) << path;
    EXPECT_TRUE(has(train, "name another file")) << train.output;
    EXPECT_EQ(readFile(folder / path), before);
  }
  for (const char *content : {"", "{\"step\":1,\"spl", "{\"step\":1}\n"}) {
    folder.write("m.jsonl", content);
    EXPECT_EQ(run("train --steps 1 --checkpoint-dir a --metrics m.jsonl").status, 0) << content;
  }
}

TEST_F(LauncherOutput, ExportsReplaceNothingElse) {
  ASSERT_EQ(run("train --steps 2 --quiet").status, 0);
  folder.write("line.tsr", "model");
  fs::copy(*shared / "line", folder / "own.safetensors"); // a program may have any name
  std::string program = readFile(folder / "own.safetensors"), model = checkpoint("line-checkpoints", 2);
  for (const char *name : {"line.csv", "line.tsr", "-", "w"}) {
    Outcome outcome = run(fmt::format("export {}", name));
    EXPECT_EQ(outcome.status, 2) << name << outcome.output;
    EXPECT_TRUE(has(outcome, "expected a name that ends in .safetensors")) << outcome.output;
  }
  EXPECT_EQ(readFile(folder / "line.csv"), csvLines(50));
  EXPECT_EQ(readFile(folder / "line.tsr"), "model");
  EXPECT_FALSE(fs::exists(folder / "-"));
  std::string itself = fmt::format("cd {} && ./own.safetensors export own.safetensors > out 2>&1", folder.path);
  EXPECT_EQ(WEXITSTATUS(std::system(itself.c_str())), 1);
  EXPECT_TRUE(has({1, readFile(folder / "out")}, "this is the program itself; name another file"));
  EXPECT_TRUE(readFile(folder / "own.safetensors") == program);
  std::string before = readFile(model + "/optimizer.safetensors");
  Outcome part = run("export " + model + "/optimizer.safetensors");
  EXPECT_EQ(part.status, 1);
  EXPECT_TRUE(has(part, "this is part of a checkpoint")) << part.output;
  EXPECT_EQ(readFile(model + "/optimizer.safetensors"), before);
  ASSERT_EQ(run("export w.safetensors").status, 0);
  EXPECT_TRUE(has(run("export ./w.safetensors --checkpoint w.safetensors"), "this is a file of the weights"));
  EXPECT_EQ(run("export w.safetensors").status, 0);
}

TEST_F(LauncherOutput, RunsReplaceNothingThatTheyUse) {
  ASSERT_EQ(run("train --steps 2 --quiet").status, 0);
  ASSERT_EQ(run("export w.safetensors").status, 0);
  fs::create_hard_link(*shared / "line", folder / "program");
  std::string part = checkpoint("line-checkpoints", 2) + "/model.safetensors";
  for (auto [options, said] :
       {std::pair<std::string, const char *>{"--profile line.csv", "--profile line.csv: this is a data file"},
        {"--metrics line.csv", "--metrics line.csv: this is a data file"},
        {"--profile program", "--profile program: this is the program itself"},
        {"--metrics program", "--metrics program: this is the program itself"},
        {"--init w.safetensors --profile ./w.safetensors", "this is a file of the weights w.safetensors"},
        {"--profile " + part, "this is part of a checkpoint"},
        {"--profile a/.lock", "this is the lock of the checkpoint folder"},
        {"--metrics new.json --profile ./new.json", "--profile ./new.json: this is what --metrics writes too"}}) {
    Outcome train = run("train --steps 1 --quiet --checkpoint-dir a " + options);
    EXPECT_EQ(train.status, 1) << options;
    EXPECT_TRUE(has(train, said)) << train.output;
    EXPECT_TRUE(CheckpointFolder(folder / "a").steps().empty()) << options;
  }
  EXPECT_EQ(readFile(folder / "line.csv"), csvLines(50));
  // A device is for all; the metrics of a run that resumes continue.
  for (auto [dir, metrics] : {std::pair("b", "/dev/null"), {"c", "m.jsonl"}})
    for (int steps : {2, 4}) {
      std::string options = fmt::format("--checkpoint-dir {} --steps {} --metrics {}", dir, steps, metrics);
      EXPECT_EQ(run("train --quiet --profile /dev/null " + options).status, 0) << options;
    }
}

TEST_F(LauncherOutput, StopDoesNotWaitForReaderOfTheMetrics) {
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::string script = fmt::format(
      "cd {}\nsleep 20 < fifo &\nreader=$!\nsleep 0.1\n{} train --checkpoint-dir a --steps 2000000000 --set "
      "evaluate.every=0 --set save.every=0 --metrics fifo > log 2>&1 &\np=$!\n"
      "until grep -q '^step [0-9]*/' log; do sleep 0.01; done; sleep 0.5; kill $p; wait $p\n"
      "status=$?; kill $reader; exit $status\n",
      folder.path, *shared / "line");
  folder.write("script.sh", script);
  EXPECT_EQ(WEXITSTATUS(std::system(fmt::format("timeout 15 bash {} > /dev/null 2>&1", folder / "script.sh").c_str())),
            75);
  EXPECT_EQ(CheckpointFolder(folder / "a").steps().size(), 1u);
}

TEST_F(LauncherOutput, ReaderOfTheMetricsMayClose) {
  std::string piped = fmt::format(
      "cd {} && ({} train --steps 40 --checkpoint-dir b --metrics - 2> said; echo $? > status) | head -1 > one",
      folder.path, *shared / "line");
  EXPECT_EQ(std::system(fmt::format("bash -c '{}'", piped).c_str()), 0);
  EXPECT_EQ(readFile(folder / "status"), "0\n") << readFile(folder / "said");
  EXPECT_TRUE(nlohmann::json::accept(readFile(folder / "one")));
}

TEST_F(LauncherOutput, FilesKeepTheirMode) {
  folder.write("m.jsonl", "");
  fs::permissions(folder / "m.jsonl", fs::perms(0600));
  ASSERT_EQ(run("train --steps 2 --checkpoint-dir a --metrics m.jsonl").status, 0);
  EXPECT_EQ(fs::status(folder / "m.jsonl").permissions(), fs::perms(0600));
  folder.write("w.safetensors", "");
  fs::permissions(folder / "w.safetensors", fs::perms(0666));
  ASSERT_EQ(run("export w.safetensors --checkpoint a", "umask 077;").status, 0);
  EXPECT_EQ(fs::status(folder / "w.safetensors").permissions(), fs::perms(0666));
}

TEST_F(LauncherOutput, RemovedFolderIsCreatedAgain) {
  EXPECT_EQ(whileRunning("mv a gone; for i in $(seq 3000); do sleep 0.01; ls a | grep -q ^step && break; done; kill $p",
                         "--set save.minutes=0.0005"),
            75)
      << readFile(folder / "log");
  EXPECT_FALSE(CheckpointFolder(folder / "a").steps().empty());
  EXPECT_TRUE(fs::exists(folder / "a/.lock"));
}

TEST_F(LauncherOutput, ResultsThatCannotBeWrittenAreAnError) {
  ASSERT_EQ(run("train --steps 2 --quiet").status, 0);
  folder.write("ran", "");
  for (const char *command : {"eval", "info", "predict --data line.csv", "generate --length 2", "export w.safetensors",
                              "import w.safetensors -o i"}) {
    std::string full = fmt::format("cd {} && {} {} > /dev/full 2> said", folder.path, *shared / "line", command);
    EXPECT_EQ(WEXITSTATUS(std::system(full.c_str())), 1) << command;
    EXPECT_NE(readFile(folder / "said").find("cannot write to standard output"), std::string::npos) << command;
  }
  std::string train = fmt::format("cd {} && {} train --steps 3 > /dev/full", folder.path, *shared / "line");
  EXPECT_EQ(WEXITSTATUS(std::system(train.c_str())), 0);
}

/// What a run is asked for must be whole, or the status says that it is not; the run itself is saved in any case.
TEST_F(LauncherOutput, LostRecordsAndTablesAreSaidOnceAndInTheStatus) {
  struct Case {
    const char *options, *redirection, *said;
  };
  int number = 0;
  for (auto [options, redirection, said] :
       {Case{"--metrics /dev/full", "", "error: the metrics file /dev/full: the last "},
        {"--metrics -", "> /dev/full", "error: the metrics to standard output: the last "},
        {"--metrics -", ">&-", "error: the metrics to standard output: the last "},
        {"--profile-table", "> /dev/full", "error: cannot write the table of the profile to standard output: No space"},
        {"--profile-table", ">&-", "error: cannot write the table of the profile to standard output: "}}) {
    std::string dir = fmt::format("a{}", ++number);
    std::string train = fmt::format("cd {} && {} train --steps 30 --set save.every=2 --quiet --checkpoint-dir {} {} {} "
                                    "2> said",
                                    folder.path, *shared / "line", dir, options, redirection);
    EXPECT_EQ(WEXITSTATUS(std::system(train.c_str())), 1) << options << redirection;
    std::string text = readFile(folder / "said");
    EXPECT_NE(text.find(said), std::string::npos) << text;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 2) << text; // a warning when it begins, an error at the end
    EXPECT_EQ(CheckpointFolder(folder / dir).steps().back(), 30);
  }
  EXPECT_EQ(whileRunning("kill $p", "--metrics /dev/full"), 75) << readFile(folder / "log"); // to be resumed
  EXPECT_NE(readFile(folder / "log").find("records could not be written"), std::string::npos);
}

TEST_F(LauncherOutput, ClosedStandardOutputIsAnError) {
  ASSERT_EQ(run("train --steps 2 --quiet").status, 0);
  for (const char *command : {"eval", "info", "generate --length 2", "export w.safetensors"}) {
    std::string full = fmt::format("cd {} && {} {} >&- 2> said", folder.path, *shared / "line", command);
    EXPECT_EQ(WEXITSTATUS(std::system(full.c_str())), 1) << command;
    EXPECT_NE(readFile(folder / "said").find("cannot write to standard output"), std::string::npos) << command;
  }
}

TEST_F(LauncherOutput, NonFiniteWeightsAreRefused) {
  ASSERT_EQ(run("train --steps 2 --quiet").status, 0);
  ASSERT_EQ(run("export w.safetensors").status, 0);
  std::string weights = readFile(folder / "w.safetensors");
  float nan = NAN;
  weights.replace(weights.size() - 8, 4, reinterpret_cast<const char *>(&nan), 4); // of [3, 2]: the fifth
  folder.write("w.safetensors", weights);
  for (const char *command :
       {"generate --checkpoint w.safetensors", "predict --checkpoint w.safetensors --data line.csv",
        "import w.safetensors -o i", "train --init w.safetensors --checkpoint-dir i"}) {
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 1) << command;
    EXPECT_TRUE(has(outcome, "w.safetensors: 'w' at [2, 0] (byte ")) << outcome.output;
    EXPECT_TRUE(has(outcome, "is a NaN")) << outcome.output;
  }
  EXPECT_EQ(run("import missing.safetensors -o j").status, 1);
  EXPECT_FALSE(fs::exists(folder / "j"));
}

TEST_F(LauncherOutput, ProfileTableIsShownAtTheEnd) {
  Outcome train = run("train --steps 4 --quiet --profile-table --profile p.json");
  EXPECT_EQ(train.status, 0) << train.output;
  for (const char *said :
       {"profile: ", "ms a step, median of 3", "by line of the model", "by kernel", "x w: contraction"})
    EXPECT_TRUE(has(train, said)) << said << "\n" << train.output;
  EXPECT_EQ(nlohmann::json::parse(readFile(folder / "p.json"))["steps"], 4);
  EXPECT_TRUE(has(run("train --steps 4 --quiet --profile-table"), "profile: there was no step"));
  Outcome none = run("train --steps 0 --quiet --profile-table --checkpoint-dir none"); // evaluates
  EXPECT_TRUE(has(none, "profile: there was no step")) << none.output;
}

TEST_F(LauncherOutput, EvaluationsAreNotProfiled) {
  ASSERT_EQ(run("train --steps 20 --set evaluate.every=1 --quiet --profile p.json").status, 0);
  auto rows = nlohmann::json::parse(readFile(folder / "p.json"))["rows"];
  EXPECT_FALSE(rows.empty());
  for (const auto &row : rows) EXPECT_EQ(row["calls"], 1) << row;
}

TEST_F(LauncherOutput, CheckpointAfterNonFiniteStepsIsNotCalledGood) {
  writeDiverging();
  Outcome train = run("train --checkpoint-dir a --set save.every=2");
  EXPECT_EQ(train.status, 3);
  EXPECT_TRUE(has(train, "there is no checkpoint")) << train.output;
}

/// While it lives no file of this process may grow beyond so many bytes.
class SmallFiles {
public:
  explicit SmallFiles(rlim_t bytes) : before(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old);
    rlimit low = {bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, before);
  }

private:
  void (*before)(int);
  rlimit old;
};

TEST_F(LauncherOutput, FullDiskSplitsNoRecord) {
  std::string path = folder / "m.jsonl";
  testing::internal::CaptureStderr();
  {
    MetricsWriter metrics;
    metrics.open(path, 0, false);
    auto write = [&](int first, int last) {
      for (int i = first; i < last; ++i) metrics.write({{"step", i}, {"note", std::string(90, 'x')}});
      metrics.sync();
    };
    write(0, 5);
    {
      SmallFiles full(fs::file_size(path) + 150); // one more record, and a part of the next
      write(5, 8);
      std::string text = readFile(path);
      EXPECT_EQ(text.back(), '\n');
      EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
    }
    write(8, 10);
  }
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("cannot write the metrics file"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  std::ifstream file(path);
  int step = 0;
  for (std::string line; std::getline(file, line); ++step) EXPECT_EQ(nlohmann::json::parse(line)["step"], step);
  EXPECT_EQ(step, 10);
}

} // namespace
