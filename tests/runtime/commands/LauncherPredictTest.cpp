//===- LauncherPredictTest.cpp - the command `predict` -------------------------===//

#include "tests/runtime/commands/LauncherFixture.h"

#include <sstream>
#include <tuple>

namespace tessera::tests {
namespace {

class LauncherPredict : public LauncherFixture {
protected:
  void SetUp() override {
    LauncherFixture::SetUp();
    ASSERT_EQ(run("train --steps 40 --quiet").status, 0);
  }

  /// The numbers of the predicted CSV file; `header` is its first line.
  std::vector<std::vector<float>> predicted(const std::string &name, std::string &header) const {
    std::ifstream file(folder / name);
    std::getline(file, header);
    std::vector<std::vector<float>> rows;
    for (std::string line; std::getline(file, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(std::stof(cell));
    }
    return rows;
  }

  /// x w for the first rows of the data.
  std::vector<std::vector<float>> expected(int rows) {
    SafetensorsFile file(checkpoint("line-checkpoints", 40) + "/model.safetensors");
    const float *w = reinterpret_cast<const float *>(file.find("w")->data);
    std::istringstream lines(csvLines(rows));
    std::string line;
    std::getline(lines, line);
    std::vector<std::vector<float>> results;
    while (std::getline(lines, line)) {
      float a, b, c;
      EXPECT_EQ(sscanf(line.c_str(), "%f,\"%f\",%f", &a, &b, &c), 3) << line;
      results.push_back({a * w[0] + b * w[2] + c * w[4], a * w[1] + b * w[3] + c * w[5]});
    }
    return results;
  }

  void expectNear(const std::vector<std::vector<float>> &got, const std::vector<std::vector<float>> &want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].size(), want[i].size());
      for (size_t k = 0; k < want[i].size(); ++k) EXPECT_NEAR(got[i][k], want[i][k], 1e-6) << i << " " << k;
    }
  }

  std::string header;
};

TEST_F(LauncherPredict, AllRowsInOrder) {
  for (int rows : {50, 48, 3, 1}) { // batches have 4
    folder.write("rows.csv", csvLines(rows));
    Outcome outcome = run("predict --data rows.csv --output p.csv");
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    EXPECT_NE(outcome.output.find(fmt::format("wrote p.csv ({} rows of line [output: 2]", rows)), std::string::npos)
        << outcome.output;
    expectNear(predicted("p.csv", header), expected(rows));
    EXPECT_EQ(header, "line.0,line.1");
  }
}

TEST_F(LauncherPredict, StandardOutputIsTheDefault) {
  ASSERT_EQ(run("predict --data line.csv --output p.csv").status, 0);
  ASSERT_EQ(run("predict --data line.csv 2> /dev/null > q.csv; true").status, 0);
  std::string written = readFile(folder / "p.csv");
  EXPECT_EQ(written, readFile(folder / "q.csv"));
  EXPECT_EQ(run("predict --data line.csv 2> /dev/null > /dev/full; echo status $?").output, "status 1\n");
}

TEST_F(LauncherPredict, LabelsMayBeMissing) {
  ASSERT_EQ(run("predict --data line.csv --output p.csv").status, 0);
  ASSERT_EQ(std::system(fmt::format("cut -d, -f1-3 {0}/line.csv > {0}/x.csv", folder.path).c_str()), 0);
  ASSERT_EQ(run("predict --data x.csv --output q.csv").status, 0);
  EXPECT_EQ(readFile(folder / "p.csv"), readFile(folder / "q.csv"));
  // Labels in front: a file with as many columns as the fields take has these columns only.
  programWith({{"\"column\": 0", "\"column\": 2"}, {"\"column\": 3", "\"column\": 0"}});
  Outcome outcome = run("predict --data x.csv --output r.csv", "", "other");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_EQ(readFile(folder / "p.csv"), readFile(folder / "r.csv"));
  // Columns that are not read may hold text.
  folder.write("text.csv", "0.5,0.25,1,unknown,\n");
  EXPECT_EQ(run("predict --data text.csv --output t.csv").status, 0);
  EXPECT_EQ(predicted("t.csv", header).size(), 1u);
}

TEST_F(LauncherPredict, FieldsAreEchoed) {
  Outcome outcome = run("predict --data line.csv --echo y --echo d.x --output p.csv");
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  std::vector<std::vector<float>> rows = predicted("p.csv", header);
  EXPECT_EQ(header, "y.0,y.1,x.0,x.1,x.2,line.0,line.1");
  ASSERT_EQ(rows.size(), 50u);
  for (const std::vector<float> &row : rows) {
    EXPECT_NEAR(row[0], row[2] - 2 * row[3] + 0.5f * row[4], 1e-6);
    EXPECT_NEAR(row[1], 3 * row[4], 1e-6);
  }
  outcome = run("predict --data line.csv --echo z");
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.output.find("the data has no field 'z'; its fields are x, y"), std::string::npos) << outcome.output;
  EXPECT_EQ(run("predict --data line.csv --echo y --echo d.y").status, 2);
}

TEST_F(LauncherPredict, BinaryFilesHoldTheSameValues) {
  ASSERT_EQ(run("predict --data line.csv --output p.csv").status, 0);
  ASSERT_EQ(run("predict --data line.csv --output p.npy").status, 0);
  ASSERT_EQ(run("predict --data line.csv --echo y --output p.safetensors").status, 0);
  std::vector<float> flat;
  for (const auto &row : predicted("p.csv", header)) flat.insert(flat.end(), row.begin(), row.end());
  std::string bytes(reinterpret_cast<const char *>(flat.data()), flat.size() * 4);

  std::string npy = readFile(folder / "p.npy");
  ASSERT_EQ(npy.size(), 128 + bytes.size());
  EXPECT_EQ(npy.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_TRUE(npy.substr(10).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (50, 2), }"));
  EXPECT_EQ(npy[127], '\n');
  EXPECT_TRUE(npy.substr(128) == bytes);

  SafetensorsFile file(folder / "p.safetensors");
  ASSERT_NE(file.find("line"), nullptr);
  EXPECT_EQ(file.find("line")->shape, (std::vector<int64_t>{50, 2}));
  EXPECT_EQ(std::string(file.find("line")->data, bytes.size()), bytes);
  ASSERT_NE(file.find("y"), nullptr);
  std::string text = readFile(folder / "p.safetensors");
  EXPECT_NE(text.find("\"axes.line\":\"[batch, output]\""), std::string::npos);
}

TEST_F(LauncherPredict, OutputsOverwriteNoInput) {
  std::string before = readFile(folder / "line.csv");
  EXPECT_EQ(run("predict --data line.csv --output line.csv").status, 1);
  EXPECT_EQ(readFile(folder / "line.csv"), before);
  // Files of checkpoints, loaded or not, whole or not.
  fs::remove(checkpoint("line-checkpoints", 20) + "/manifest.json");
  for (int64_t step : {20, 30, 40})
    for (const char *name : {"/model.safetensors", "/optimizer.safetensors"}) {
      std::string file = checkpoint("line-checkpoints", step) + name, link = folder / "link.safetensors";
      before = readFile(file);
      fs::create_symlink(file, link);
      for (const std::string &output : {file, link}) {
        Outcome outcome = run("predict --data line.csv --output " + output);
        EXPECT_EQ(outcome.status, 1) << output << outcome.output;
        EXPECT_NE(outcome.output.find("this is part of a checkpoint"), std::string::npos) << outcome.output;
      }
      EXPECT_EQ(readFile(file), before) << file;
      fs::remove(link);
    }
  EXPECT_EQ(run("predict --data line.csv --output line-checkpoints/step-00000040/p.safetensors").status, 0);
}

TEST_F(LauncherPredict, OutputsOverwriteNoWeights) {
  ASSERT_EQ(run("export w.safetensors").status, 0);
  for (const char *dir : {"single", "shards"}) fs::create_directory(folder / dir);
  fs::copy(folder / "w.safetensors", folder / "single/model.safetensors");
  fs::copy(folder / "w.safetensors", folder / "shards/one.safetensors");
  folder.write("shards/model.safetensors.index.json", R"({"weight_map": {"w": "one.safetensors"}})");
  std::string before = readFile(folder / "w.safetensors");
  for (auto [checkpoint, output] : {std::pair("w.safetensors", "w.safetensors"),
                                    {"single", "single/model.safetensors"},
                                    {"shards", "shards/one.safetensors"},
                                    {"shards/model.safetensors.index.json", "./shards/../shards/one.safetensors"}}) {
    Outcome outcome = run(fmt::format("predict --data line.csv --checkpoint {} --output {}", checkpoint, output));
    EXPECT_EQ(outcome.status, 1) << output << outcome.output;
    EXPECT_NE(outcome.output.find(fmt::format("this is a file of the weights {}", checkpoint)), std::string::npos)
        << outcome.output;
    EXPECT_EQ(readFile(folder / output), before) << output;
    EXPECT_EQ(run(fmt::format("predict --data line.csv --checkpoint {} --output p.csv", checkpoint)).status, 0);
  }
}

TEST_F(LauncherPredict, WrongCommandLines) {
  using Case = std::tuple<const char *, int, const char *>;
  for (auto [arguments, status, said] :
       {Case{"", 2, "--data is required"},
        Case{"--data line.csv --output p.txt", 2, "ends in .csv, .npy or .safetensors"},
        Case{"--data line.csv --output no/p.csv", 1, "cannot write no/p.csv: No such file or directory"},
        Case{"--data line.csv --output .", 2, "ends in"}, Case{"--data line.csv --output ''", 2, "expected a path"},
        Case{"--data line.csv --echo y --output p.npy", 2, "a .npy file holds one array, there are y, line"},
        Case{"--data line.csv --likelihood", 2, "--likelihood needs a model from tokens"},
        Case{"--data missing.csv", 1, "missing.csv"}, Case{"--data train=line.csv", 2, "no training data is read here"},
        Case{"--data line.csv --checkpoint none", 1, "none"}}) {
    Outcome outcome = run(fmt::format("predict {}", arguments));
    EXPECT_EQ(outcome.status, status) << arguments << ": " << outcome.output;
    EXPECT_NE(outcome.output.find(said), std::string::npos) << arguments << ": " << outcome.output;
  }
  for (const auto &file : fs::directory_iterator(folder.path)) // nothing is left behind
    EXPECT_EQ(file.path().string().find("p.csv"), std::string::npos) << file.path();
}

TEST_F(LauncherPredict, LikelihoodsAreOfOneSource) {
  auto input = [](const char *name, int offset) {
    return fmt::format(R"({{"name": "{0}.tokens", "role": "data", "data": "{0}", "field": "tokens", "type": "i32",
                           "axes": [["batch", 1], ["seq", 4]], "of": 5, "offset": {1}, "bytes": 16}})",
                       name, offset);
  };
  auto source = [](const char *name) {
    return fmt::format(R"({{"name": "{0}", "format": "text", "batch": ["batch", 1], "seq": ["seq", 4],
                           "splits": {{"train": ["{0}.txt"], "val": []}}, "val_fraction": 0, "shuffle": true}})",
                       name);
  };
  // The whole entry function is replaced.
  std::string manifest = manifestText, entry = R"("predict": {"inputs": )";
  size_t begin = manifest.find(entry), end = manifest.find(R"("generate")");
  std::string before = manifest.substr(begin, end - begin);
  auto predicting = [&](const std::string &inputs) {
    programWith(
        {{before, entry + "[" + inputs + R"(], "outputs": [{"name": "scores", "role": "result", "type": "f32",
                   "axes": [["batch", 1], ["seq", 4], ["vocab", 5]], "offset": 960, "bytes": 80}]}, )"},
         {R"("data": [{"name": "d")", R"("data": [)" + source("a") + ", " + source("b") + R"(, {"name": "d")"}});
  };
  folder.write("a.txt", std::string("\1\2\3\4\1\2\3\4\1", 9));
  predicting(input("a", 896) + ", " + input("b", 1088));
  Outcome two = run("predict --data a=a.txt --data b=a.txt --likelihood", "", "other");
  EXPECT_EQ(two.status, 2) << two.output;
  EXPECT_NE(two.output.find("the model reads tokens of a and b, and nothing says which of them its scores are about"),
            std::string::npos)
      << two.output;
  EXPECT_NE(two.output.find("--echo a.next"), std::string::npos) << two.output;
  predicting(input("a", 896));
  Outcome one = run("predict --data a.txt --likelihood --output p.csv", "", "other");
  EXPECT_EQ(one.status, 0) << one.output;
  EXPECT_EQ(predicted("p.csv", header).size(), 2u);
}

TEST_F(LauncherPredict, BadRowsAreNamed) {
  folder.write("bad.csv", "1,2,3\n1,nan,3\n");
  Outcome outcome = run("predict --data bad.csv --output p.csv");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("bad.csv: line 2"), std::string::npos) << outcome.output;
  folder.write("huge.csv", "1,1,1\n3.4e38,3.4e38,3.4e38\n");
  outcome = run("predict --data huge.csv --output p.csv");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.output.find("predicted values are not finite, the first in row 1 of 'line'"), std::string::npos)
      << outcome.output;
}

// A limit of 128 blocks of 512 or 1024 bytes: enough for the code of the program, which is a file in memory.
TEST_F(LauncherPredict, FileSizeLimitsAreErrorsAndLeaveNothing) {
  folder.write("rows.csv", csvLines(20'000));
  for (const char *output : {"p.csv", "p.npy", "p.safetensors"}) {
    Outcome outcome = run(fmt::format("predict --data rows.csv --output {}", output), "ulimit -f 128;");
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_EQ(outcome.output, fmt::format("error: cannot write {}: File too large\n", output));
    for (const auto &file : fs::directory_iterator(folder.path))
      EXPECT_EQ(file.path().filename().string().find(output), std::string::npos) << file.path();
  }
}

TEST_F(LauncherPredict, ProgramsWithoutTheEntryFunctionSaySo) {
  programWith({{"\"predict\"", "\"generate2\""}});
  Outcome outcome = run("predict --data line.csv", "", "other");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.output.find("this program cannot predict"), std::string::npos) << outcome.output;
}

} // namespace
} // namespace tessera::tests
