// Weights on the command line: parts, maps, folders and indexes. The model has one parameter, w [feature, output].

#include "LauncherFixture.h"
#include "runtime/weights/WeightMap.h"
#include "tests/runtime/weights/TensorFile.h"

using namespace tessera::tests;

namespace {

class LauncherWeights : public LauncherFixture {
protected:
  void SetUp() override {
    LauncherFixture::SetUp();
    folder.write("plain.safetensors", tensorFile({{"w", {3, 2}, {1, 2, 3, 4, 5, 6}}}));
    folder.write("linear.safetensors", tensorFile({{"linear.weight", {2, 3}, {1, 3, 5, 2, 4, 6}}, {"mask", {1}, {0}}}));
    folder.write("linear.map", "\"linear.weight\" [output, feature] = w\nignore \"mask\"\n");
  }

  /// Runs a command that must fail with a status and a part of its output.
  void expectFails(const std::string &command, int status, const std::string &said) {
    Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, status) << command;
    EXPECT_NE(outcome.output.find(said), std::string::npos) << said << ", got: " << outcome.output;
  }

  std::string elements(const std::string &file, const std::string &name) {
    SafetensorsFile weights(folder / file);
    const SafeTensor *tensor = weights.find(name);
    return tensor ? std::string(tensor->data, tensor->bytes) : "";
  }
};

TEST_F(LauncherWeights, MapsWorkInBothDirections) {
  ASSERT_EQ(run("import plain.safetensors -o a").status, 0);
  Outcome imported = run("import linear.safetensors --map linear.map -o b");
  ASSERT_EQ(imported.status, 0) << imported.output;
  EXPECT_EQ(imported.output.find("note"), std::string::npos) << imported.output;
  expectEqualCheckpoints("a", "b", 0);
  ASSERT_EQ(run("train --init linear.safetensors --map linear.map --steps 0 --checkpoint-dir c").status, 0);
  EXPECT_EQ(readFile(checkpoint("a", 0) + "/model.safetensors"), readFile(checkpoint("c", 0) + "/model.safetensors"));
  ASSERT_EQ(run("export out.safetensors --map linear.map --checkpoint b").status, 0);
  EXPECT_EQ(elements("out.safetensors", "linear.weight"), elements("linear.safetensors", "linear.weight"));
  EXPECT_NE(readFile(folder / "out.safetensors").find(R"("axes.linear.weight":"[output, feature]")"),
            std::string::npos);
}

// Rows are held out as in a run that begins without a checkpoint.
TEST_F(LauncherWeights, RunsFromImportedWeightsChooseTheRowsForValidation) {
  programWith({{R"("val_fraction": 0.2)", R"("val_fraction": 0.2, "val_seed": 0)"}});
  ASSERT_EQ(run("import plain.safetensors -o a", "", "other").status, 0);
  EXPECT_EQ(nlohmann::json::parse(readFile(checkpoint("a", 0) + "/manifest.json"))["row_order"], 2);
  Outcome imported = run("train --checkpoint-dir a", "", "other");
  EXPECT_EQ(imported.status, 0) << imported.output;
  EXPECT_EQ(imported.output.find("held out the last rows"), std::string::npos) << imported.output;
  ASSERT_EQ(run("train --init plain.safetensors --checkpoint-dir b", "", "other").status, 0);
  expectEqualCheckpoints("a", "b", 40);
}

TEST_F(LauncherWeights, PartsAreSaid) {
  expectFails("import linear.safetensors -o a", 1, "it lacks w; the program has no linear.weight, mask;");
  expectFails("import linear.safetensors -o a", 1, "give --only PATTERN");
  expectFails("import linear.safetensors --only '**' -o a", 1, "--only **: linear.safetensors has none of these");
  folder.write("more.safetensors", tensorFile({{"w", {3, 2}, {1, 2, 3, 4, 5, 6}}, {"x", {1}, {1}}}));
  expectFails("eval --checkpoint more.safetensors", 1, "the program has no x; `info` lists the parameters\n");
  Outcome imported = run("import more.safetensors --only 'weight,w' -o a");
  EXPECT_EQ(imported.status, 0) << imported.output;
  EXPECT_NE(imported.output.find("note: not used, of more.safetensors: x\n"), std::string::npos) << imported.output;
  EXPECT_NE(imported.output.find("note: read 1 of 1 parameters from more.safetensors\n"), std::string::npos);
}

TEST_F(LauncherWeights, FoldersAndIndexesAreRead) {
  fs::create_directory(folder / "hf");
  folder.write("hf/one.safetensors", tensorFile({{"w", {3, 2}, {1, 2, 3, 4, 5, 6}}}));
  folder.write("hf/model.safetensors.index.json", R"({"weight_map": {"w": "one.safetensors"}})");
  ASSERT_EQ(run("import plain.safetensors -o plain").status, 0);
  for (const char *path : {"hf", "hf/model.safetensors.index.json"}) {
    Outcome imported = run(fmt::format("import {} -o from-{}", path, path == std::string("hf") ? 1 : 2));
    EXPECT_EQ(imported.status, 0) << imported.output;
    EXPECT_EQ(run(fmt::format("eval --checkpoint {}", path)).status, 0);
  }
  expectEqualCheckpoints("plain", "from-1", 0);
  expectEqualCheckpoints("plain", "from-2", 0);
  EXPECT_EQ(run("train --init hf --steps 1 --checkpoint-dir b").status, 0);
  fs::create_directory(folder / "empty");
  expectFails("import empty -o c", 1, "import empty: no checkpoint is there, and no weights");
}

TEST_F(LauncherWeights, OneProcessExportsFromAProgramForSeveralRanks) {
  ASSERT_EQ(run("import plain.safetensors -o b").status, 0);
  programWith({{R"([["output", 2], ["feature", 3]],
     "canonical": ["feature", "output"], "offset": 0, "bytes": 24})",
                R"([["output", 1], ["feature", 3]], "divided": {"output": {"along": "data", "whole": 2}},
     "canonical": ["feature", "output"], "offset": 0, "bytes": 12})"},
               {R"("settings":)", R"("mesh": [{"name": "data", "size": 2}], "exchanges": [], "settings":)"}});
  for (const char *program : {"line", "other"}) {
    Outcome exported = run(fmt::format("export {}.safetensors --checkpoint b", program), "", program);
    ASSERT_EQ(exported.status, 0) << exported.output;
  }
  EXPECT_EQ(readFile(folder / "other.safetensors"), readFile(folder / "line.safetensors"));
  Outcome imported = run("import plain.safetensors -o c", "", "other");
  EXPECT_EQ(imported.status, 2);
  EXPECT_NE(imported.output.find("import with the model compiled without --mesh"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "c"));
}

TEST_F(LauncherWeights, HelpNamesTheMapsOfTheRuntime) {
  for (const char *command : {"train", "import", "export"}) {
    Outcome help = run(fmt::format("{} --help", command));
    EXPECT_EQ(help.status, 0);
    for (const BuiltinMap &map : builtinMaps())
      EXPECT_NE(help.output.find(map.name), std::string::npos) << map.name << "\n" << help.output;
  }
}

TEST_F(LauncherWeights, OptionsAreChecked) {
  expectFails("train --only w", 2, "name some with --init PATH");
  expectFails("train --map linear.map", 2, "name some with --init PATH");
  expectFails("import plain.safetensors --only ''", 2, "--only: expected a path, got nothing");
  for (const char *command : {"import plain.safetensors", "export w.safetensors", "train --init plain.safetensors"})
    expectFails(fmt::format("{} --only 'x.*,w*'", command), 2,
                "--only w*: `*` stands for a whole name and `**` for any number of names, but 'w*' has other");
  expectFails("import plain.safetensors --map ''", 2, "--map: expected a path, got nothing");
  expectFails("import plain.safetensors --map nowhere.map -o a", 1, "cannot open nowhere.map");
  folder.write("bad.map", "\"linear.weight\" [output, feature = w");
  expectFails("import plain.safetensors --map bad.map -o a", 1, "error: bad.map:1:34: expected `]`, got `=`");
  EXPECT_FALSE(fs::exists(folder / "a")); // refused weights leave no folder
}

} // namespace
