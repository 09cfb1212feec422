//===- LauncherFixture.h - the launcher with a program in C ---------------===//
//
// The program is a linear regression without a compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TESTS_RUNTIME_COMMANDS_LAUNCHERFIXTURE_H
#define TESSERA_TESTS_RUNTIME_COMMANDS_LAUNCHERFIXTURE_H

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/program/Payload.h"
#include "tests/runtime/TemporaryFolder.h"

#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

namespace tessera::tests {

using namespace runtime;
namespace fs = std::filesystem;

inline constexpr const char *manifestText = R"({
  "abi": 9, "compiler": "by hand", "model": "line",
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
    "init": {"inputs": [
        {"name": "seed", "role": "seed", "type": "i64", "axes": [], "offset": 256, "bytes": 8}], "outputs": []},
    "step": {"inputs": [
        {"name": "x", "role": "data", "data": "d", "field": "x", "type": "f32", "axes": [["batch", 4], ["feature", 3]],
         "of": null, "offset": 320, "bytes": 48},
        {"name": "y", "role": "data", "data": "d", "field": "y", "type": "f32", "axes": [["batch", 4], ["output", 2]],
         "of": null, "offset": 384, "bytes": 32}],
      "outputs": [
        {"name": "squared", "role": "loss", "type": "f32", "axes": [], "offset": 512, "bytes": 4},
        {"name": "grad_norm", "role": "grad_norm", "type": "f32", "axes": [], "offset": 576, "bytes": 4},
        {"name": "finite", "role": "finite", "type": "i32", "axes": [], "offset": 640, "bytes": 4},
        {"name": "rate", "role": "rate", "type": "f32", "axes": [], "offset": 704, "bytes": 4}],
      "flops": 48, "bytes": 200},
    "evaluate": {"inputs": [
        {"name": "x", "role": "data", "data": "d", "field": "x", "type": "f32", "axes": [["batch", 4], ["feature", 3]],
         "of": null, "offset": 320, "bytes": 48},
        {"name": "y", "role": "data", "data": "d", "field": "y", "type": "f32", "axes": [["batch", 4], ["output", 2]],
         "of": null, "offset": 384, "bytes": 32},
        {"name": "weight", "role": "weight", "type": "f32", "axes": [["batch", 4]], "offset": 768, "bytes": 16}],
      "outputs": [
        {"name": "squared", "role": "loss", "type": "f32", "axes": [], "offset": 512, "bytes": 4},
        {"name": "squared", "role": "count", "type": "f32", "axes": [], "offset": 832, "bytes": 4}]},
    "predict": {"inputs": [
        {"name": "x", "role": "data", "data": "d", "field": "x", "type": "f32", "axes": [["batch", 4], ["feature", 3]],
         "offset": 320, "bytes": 48}],
      "outputs": [
        {"name": "line", "role": "result", "type": "f32", "axes": [["batch", 4], ["output", 2]], "offset": 448,
         "bytes": 32}]},
    "generate": {"inputs": [
        {"name": "tokens", "role": "argument", "type": "i32", "axes": [["batch", 1], ["seq", 4]],
         "of": 5, "offset": 896, "bytes": 16}],
      "outputs": [
        {"name": "scores", "role": "result", "type": "f32", "axes": [["batch", 1], ["seq", 4], ["vocab", 5]],
         "offset": 960, "bytes": 80}]}},
  "gemms": [{"name": "x w", "type": "f32", "dims_a": [4, 3], "strides_a": [3, 1], "dims_b": [3, 2], "strides_b": [1, 3],
             "dims_c": [4, 2], "strides_c": [2, 1], "bias": null, "accumulate": false, "scratch": 0}],
  "data": [{"name": "d", "format": "csv", "batch": ["batch", 4], "splits": {"train": ["line.csv"], "val": []},
            "val_fraction": 0.2, "shuffle": true,
            "fields": [{"name": "x", "type": "f32", "axes": [["feature", 3]], "column": 0},
                       {"name": "y", "type": "f32", "axes": [["output", 2]], "column": 3}]}],
  "settings": {"evaluate": {"every": 10}, "save": {"every": 10, "keep": 3}, "stop": {"after": 40}},
  "plan": {"buffers": [{"name": "w", "entry": "*", "kind": "state", "offset": 0, "bytes": 24}]},
  "kernels": [{"name": "update", "flops": 120, "read": 160, "written": 48, "calls": {"step": 1}}]
})";

/// y0 = x0 - 2 x1 + 0.5 x2, y1 = 3 x2.
inline std::string csvLines(int rows) {
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

class LauncherFixture : public testing::Test {
protected:
  static void SetUpTestSuite() {
    shared = new TemporaryFolder;
    std::string root = TESSERA_SOURCE_DIR;
    std::string source = root + "/tests/runtime/commands/linear_regression.c";
    std::string object = *shared / "program.so";
    std::string compile = fmt::format("{} -O2 -shared -fPIC -nostdlib -ffreestanding -fuse-ld=lld -I{} {} -o {}",
                                      TESSERA_C_COMPILER, root, source, object);
    // Not asserted here: GoogleTest would skip the tests of the suite, and CMake would not count them as failed.
    setUpError = std::system(compile.c_str()) == 0
                     ? writeTrainingProgram(TESSERA_LAUNCHER, readFile(object), manifestText, *shared / "line")
                     : "failed: " + compile;
  }
  static void TearDownTestSuite() { delete shared; }

  void SetUp() override {
    ASSERT_EQ(setUpError, "");
    folder.write("line.csv", csvLines(50));
  }

  /// Data of which every error is infinite when it is squared.
  void writeDiverging() {
    std::string text;
    for (int i = 0; i < 50; ++i) text += "1,2,3,1e30,5\n";
    folder.write("line.csv", text);
  }

  Outcome run(const std::string &arguments, const std::string &prefix = "", const std::string &program = "line") {
    std::string command =
        fmt::format("cd {} && {} {} {} > out 2>&1", folder.path, prefix, *shared / program, arguments);
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, readFile(folder / "out")};
  }

  /// Starts an endless run in folder `a`, waits until it steps, and runs `script`, in which $p is its process.
  /// Returns the run's exit status.
  int whileRunning(const std::string &script, const std::string &options = "", const std::string &program = "line") {
    std::string start = fmt::format("cd {}\nrm -f log\n{} train --checkpoint-dir a --steps 2000000000 --set "
                                    "evaluate.every=0 {} > log 2>&1 &\np=$!\n"
                                    "for i in $(seq 1000); do sleep 0.01; grep -q '^step [0-9]*/' log && break; done\n",
                                    folder.path, *shared / program, options);
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

  static inline TemporaryFolder *shared = nullptr;
  static inline std::string setUpError;
  TemporaryFolder folder;
};

} // namespace tessera::tests

#endif // TESSERA_TESTS_RUNTIME_COMMANDS_LAUNCHERFIXTURE_H
