// Damage of any byte is detected; saving never harms existing checkpoints.

#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/base/Hash.h"
#include "runtime/base/ReplacementFile.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <numeric>
#include <sys/resource.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace fs = std::filesystem;

namespace {

class Checkpoints : public testing::Test {
protected:
  void SetUp() override {
    manifest.model = "m";
    manifest.state = {{"w", "weight", ElementType::F32, {{"a", 4}, {"b", 5}}, {"b", "a"}, 0, 80},
                      {"w.m", "moment", ElementType::F32, {{"a", 4}, {"b", 5}}, {"b", "a"}, 80, 80},
                      {"step", "counter", ElementType::I32, {}, {}, 160, 4}};
    memory.resize(164);
    std::iota(memory.begin(), memory.end(), 1);
    info.model = "m", info.step = 10, info.position = 12, info.seed = 5, info.data = "d=x";
  }

  StateAddress address(std::vector<char> &where) {
    return [&where](const StateEntry &entry) { return where.data() + entry.offset; };
  }

  TemporaryFolder temporary;
  CheckpointFolder folder{temporary / "c"};
  Manifest manifest;
  CheckpointInfo info;
  std::vector<char> memory;
  OneRank world;
};

TEST_F(Checkpoints, RoundTrip) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  EXPECT_EQ(path, temporary / "c/step-00000010");
  std::vector<char> loaded(164);
  CheckpointInfo read = loadCheckpoint(path, manifest, address(loaded), world);
  EXPECT_EQ(loaded, memory);
  EXPECT_EQ(read.step, 10);
  EXPECT_EQ(read.position, 12);
  EXPECT_EQ(read.seed, 5u);
  EXPECT_EQ(read.data, "d=x");
  EXPECT_EQ(read.rowOrder, 2);
}

TEST_F(Checkpoints, EveryFlippedBitAndTruncationIsDetected) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  for (const char *name : {"/model.safetensors", "/optimizer.safetensors", "/manifest.json"}) {
    std::string good = readFile(path + name);
    auto expectDamaged = [&](const std::string &bytes) {
      std::ofstream(path + name, std::ios::binary) << bytes;
      std::vector<char> loaded(164, 'u'), untouched = loaded;
      EXPECT_THROW(loadCheckpoint(path, manifest, address(loaded), world), CheckpointDamaged) << name;
      EXPECT_EQ(loaded, untouched);
    };
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] ^= 1 << i % 8;
      expectDamaged(bad);
    }
    for (size_t size = 0; size < good.size(); size += 7) expectDamaged(good.substr(0, size));
    expectDamaged(good + "x");
    fs::remove(path + name);
    std::vector<char> loaded(164);
    EXPECT_THROW(loadCheckpoint(path, manifest, address(loaded), world), CheckpointDamaged);
    std::ofstream(path + name, std::ios::binary) << good;
  }
  EXPECT_NO_THROW(loadCheckpoint(path, manifest, address(memory), world));
}

TEST_F(Checkpoints, UnreadableFilesAreNotDamage) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world),
              model = path + "/model.safetensors";
  fs::remove(model);
  fs::create_symlink("model.safetensors", model); // a loop of links: ELOOP, for root too
  try {
    loadCheckpoint(path, manifest, address(memory), world);
    FAIL();
  } catch (const CheckpointDamaged &e) {
    FAIL() << e.what();
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("model.safetensors"), std::string::npos) << e.what();
  }
}

TEST_F(Checkpoints, NegativePositionsAreRefused) {
  folder.lock();
  info.position = -1;
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  EXPECT_THROW(loadCheckpoint(path, manifest, address(memory), world), CheckpointDamaged);
}

/// Replaces the manifest of the checkpoint at `path` by what `change` makes of it, with a valid hash.
void rewriteManifest(const std::string &path, const std::function<void(Json &)> &change) {
  std::string file = path + "/manifest.json";
  std::ifstream stream(file);
  Json json = Json::parse(stream);
  json.erase("hash");
  change(json);
  std::string text = dumpJson(json, 1);
  text.resize(text.size() - 2); // "\n}"
  text += fmt::format(",\n \"hash\": \"{:016x}\"\n}}\n", hashXxh64(text.data(), text.size()));
  std::ofstream(file) << text;
}

TEST_F(Checkpoints, OtherFormatsAreRefusedByVersion) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  rewriteManifest(path, [](Json &json) { json["format"] = 7; });
  try {
    loadCheckpoint(path, manifest, address(memory), world);
    FAIL();
  } catch (const CheckpointDamaged &) {
    FAIL() << "not damaged, but of another version";
  } catch (const Error &e) {
    EXPECT_EQ(std::string(e.what()), path + "/manifest.json: a checkpoint of format 7, this program reads 1");
  }
}

TEST_F(Checkpoints, OlderOnesWithoutLaterKeysAreLoaded) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  rewriteManifest(path, [](Json &json) {
    for (const char *later :
         {"batch", "threads", "mesh", "leaves", "program", "row_order", "sources", "resumed_from", "source", "best"})
      json.erase(later);
  });
  CheckpointInfo loaded = loadCheckpoint(path, manifest, address(memory), world);
  EXPECT_EQ(loaded.rowOrder, 1);
  EXPECT_EQ(loaded.step, info.step);
  EXPECT_EQ(loaded.batch, 0);
  EXPECT_EQ(loaded.program, "");
}

TEST_F(Checkpoints, ChangedShapeIsRefused) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  manifest.state[0].axes = {{"a", 5}, {"b", 4}};
  try {
    loadCheckpoint(path, manifest, address(memory), world);
    FAIL();
  } catch (const CheckpointDamaged &) {
    FAIL() << "not damaged, but of another program";
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("'w' has the shape [5, 4]"), std::string::npos) << e.what();
  }
  manifest.state[0].path = "v";
  EXPECT_THROW(loadCheckpoint(path, manifest, address(memory), world), Error);
}

TEST_F(Checkpoints, RetainsTheNewest) {
  folder.lock();
  for (int64_t step : {1, 2, 30, 4}) {
    info.step = step;
    saveCheckpoint(folder, info, manifest, address(memory), world);
  }
  folder.keepNewest(2, 30);
  EXPECT_EQ(folder.steps(), (std::vector<int64_t>{4, 30}));
}

TEST_F(Checkpoints, RetainsTheLastSavedAndCountsIntactOnes) {
  folder.lock();
  for (int64_t step : {1, 2, 3, 4, 90}) {
    info.step = step;
    saveCheckpoint(folder, info, manifest, address(memory), world);
  }
  fs::resize_file(folder.pathOf(3) + "/model.safetensors", 9);
  folder.keepNewest(2, 4); // 3 is not whole, 90 is none of this run's
  EXPECT_EQ(folder.steps(), (std::vector<int64_t>{2, 3, 4, 90}));
  folder.keepNewest(1, 4);
  EXPECT_EQ(folder.steps(), (std::vector<int64_t>{4, 90}));
}

TEST_F(Checkpoints, RetainsTheBest) {
  folder.lock();
  for (int64_t step : {1, 2, 3, 4, 5}) {
    info.step = step;
    saveCheckpoint(folder, info, manifest, address(memory), world);
  }
  folder.keepNewest(2, 5, /*best=*/2);
  EXPECT_EQ(folder.steps(), (std::vector<int64_t>{2, 4, 5}));
}

TEST_F(Checkpoints, RemovesOnlyWhatACrashLeft) {
  std::vector<std::string> own = {".tmp-step-00000010-4711", ".tmp-step-00000010-4711-old", ".tmp-delete-step-00000003",
                                  ".tmp-step-123456789012-1"};
  std::vector<std::string> foreign = {".tmp-",
                                      ".tmp-notes",
                                      ".tmp-step-00000010",
                                      ".tmp-step-10-1",
                                      ".tmp-step-00000010-x",
                                      ".tmp-delete-step-00000003-1",
                                      ".tmp-experiment",
                                      ".tmp-step-00000010-1-new"};
  for (const auto &names : {own, foreign})
    for (const std::string &name : names) {
      fs::create_directories(temporary / ("c/" + name));
      temporary.write("c/" + name + "/model.safetensors", "half");
    }
  // With the name of a checkpoint, but with more in it; and no folder.
  fs::create_directories(temporary / "c/.tmp-step-00000020-1/data");
  temporary.write("c/.tmp-step-00000021-1", "a file");
  fs::create_directory_symlink(temporary / "c/.tmp-notes", temporary / "c/.tmp-step-00000022-1");
  folder.lock();
  for (const std::string &name : own) EXPECT_FALSE(fs::exists(temporary / ("c/" + name))) << name;
  for (const std::string &name : foreign)
    EXPECT_TRUE(fs::exists(temporary / ("c/" + name + "/model.safetensors"))) << name;
  for (const char *name : {"20-1/data", "21-1", "22-1"})
    EXPECT_TRUE(fs::exists(temporary / (std::string("c/.tmp-step-000000") + name))) << name;
}

TEST_F(Checkpoints, ErrorsOfJsonNameTheFileAndTheKey) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  for (const char *key : {"model", "seed", "evaluated", "data", "batch", "threads", "program"}) {
    rewriteManifest(path, [&](Json &json) { json[key] = json[key].is_string() ? Json(3) : Json("x"); });
    try {
      readCheckpointInfo(path);
      FAIL() << key;
    } catch (const CheckpointDamaged &e) {
      std::string expected = fmt::format("{}/manifest.json: {}: type must be", path, key);
      EXPECT_TRUE(std::string(e.what()).starts_with(expected)) << e.what();
    }
    saveCheckpoint(folder, info, manifest, address(memory), world);
  }
}

TEST_F(Checkpoints, MalformedListsOfFilesAreDamage) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  using Change = std::function<void(Json &)>;
  for (const auto &[change, said] :
       {std::pair<Change, const char *>{[](Json &json) { json["files"][0]["chunk_hashes"] = "0123"; },
                                        "files: model.safetensors: chunk_hashes: expected a list"},
        {[](Json &json) { json["files"][1]["bytes"] = "8"; },
         "files: optimizer.safetensors: bytes: expected an integer"},
        {[](Json &json) { json["files"][0] = 3; }, "files: expected an object"},
        {[](Json &json) { json["files"] = "x"; }, "files: expected a list"}}) {
    rewriteManifest(path, change);
    try {
      loadCheckpoint(path, manifest, address(memory), world);
      FAIL() << said;
    } catch (const CheckpointDamaged &e) {
      EXPECT_EQ(e.what(), path + "/manifest.json: " + said);
    }
    saveCheckpoint(folder, info, manifest, address(memory), world);
  }
}

TEST_F(Checkpoints, MalformedSourcesAreDamage) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  for (auto [sources, said] : {std::pair(R"("x")", "sources: expected an object, got \"x\""),
                               {"[]", "sources: expected an object, got []"},
                               {R"({"d": 3})", "source 'd': expected an object, got 3"},
                               {R"({"d": {"validation": 3}})", "source 'd': validation: expected a string"},
                               {R"({"d": {"content": 3}})", "source 'd': content: expected a string"},
                               {R"({"d": {"rows": "8"}})", "source 'd': rows: expected an integer"},
                               {R"({"d": {"bytes": ["8"]}})", "source 'd': bytes: expected an integer"},
                               {R"({"d": {"bytes": {"a": 8}}})", "source 'd': bytes: expected a list"},
                               {R"({"d": {"seq": "8"}})", "source 'd': seq: expected an integer"}}) {
    rewriteManifest(path, [&](Json &json) { json["sources"] = Json::parse(sources); });
    try {
      readCheckpointInfo(path);
      FAIL() << sources;
    } catch (const CheckpointDamaged &e) {
      EXPECT_EQ(e.what(), path + "/manifest.json: " + said);
    }
  }
  rewriteManifest(path, [&](Json &json) { json["sources"] = {{"d", {{"rows", 7}, {"validation", "0.1, tail"}}}}; });
  EXPECT_EQ(readCheckpointInfo(path).sources["d"]["rows"], 7);
}

TEST_F(Checkpoints, FilesWithTheNameOfACheckpointAreNone) {
  folder.lock();
  temporary.write("c/step-00000010", "a file");
  temporary.write("c/step-00000020", "a file");
  EXPECT_TRUE(folder.steps().empty());
  EXPECT_EQ(folder.abandonAfter(5), 0);
  try {
    saveCheckpoint(folder, info, manifest, address(memory), world);
    FAIL();
  } catch (const Error &e) {
    EXPECT_EQ(e.what(),
              fmt::format("cannot commit the checkpoint {}/c/step-00000010: a file is there", temporary.path));
  }
  EXPECT_EQ(readFile(temporary / "c/step-00000010"), "a file");
}

TEST_F(Checkpoints, ErrorsOfSavingNameTheCheckpoint) {
  folder.lock();
  rlimit before, none = {0, RLIM_INFINITY};
  getrlimit(RLIMIT_FSIZE, &before);
  none.rlim_max = before.rlim_max;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
  std::string said;
  try {
    saveCheckpoint(folder, info, manifest, address(memory), world);
  } catch (const DiskFull &e) {
    said = e.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(said, fmt::format("cannot write {}/c/step-00000010/model.safetensors: File too large", temporary.path));
}

TEST_F(Checkpoints, RenamesLaterCheckpoints) {
  folder.lock();
  for (int round = 0; round < 2; ++round) {
    for (int64_t step : {1, 5, 9}) {
      info.step = step;
      saveCheckpoint(folder, info, manifest, address(memory), world);
    }
    EXPECT_EQ(folder.abandonAfter(1), 2);
    EXPECT_EQ(folder.steps(), std::vector<int64_t>{1});
  }
  for (const char *name : {"5", "9", "5-2", "9-2"})
    EXPECT_TRUE(fs::exists(temporary / "c/abandoned-step-0000000" + name)) << name;
}

TEST_F(Checkpoints, SavingReplacesADamagedOne) {
  folder.lock();
  std::string path = saveCheckpoint(folder, info, manifest, address(memory), world);
  std::ofstream(path + "/manifest.json") << "gone";
  saveCheckpoint(folder, info, manifest, address(memory), world);
  EXPECT_NO_THROW(loadCheckpoint(path, manifest, address(memory), world));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 2); // the checkpoint and the lock
}

TEST_F(Checkpoints, LockRemovesLeftoversAndExcludesOthers) {
  fs::create_directories(temporary / "c/.tmp-step-00000011-123");
  temporary.write("c/.tmp-step-00000011-123/model.safetensors", "half");
  fs::create_directories(temporary / "c/step-hello");
  EXPECT_TRUE(folder.steps().empty());
  folder.lock();
  EXPECT_FALSE(fs::exists(temporary / "c/.tmp-step-00000011-123"));
  CheckpointFolder other(temporary / "c");
  EXPECT_THROW(other.lock(), Error);
}

TEST(CheckpointFolder, IsCreatedWithItsParents) {
  TemporaryFolder temporary;
  CheckpointFolder folder(temporary / "a/b/c/");
  folder.lock();
  EXPECT_TRUE(fs::is_directory(temporary / "a/b/c"));
  temporary.write("file", "");
  for (const char *path : {"file", "file/a"}) EXPECT_THROW(CheckpointFolder(temporary / path).lock(), Error);
}

TEST(DurableFile, FullDisk) {
  DurableFile file("/dev/full");
  file.append("x", 1);
  EXPECT_THROW(file.commit(), DiskFull);
}

TEST(DurableFile, FileSizeLimitCountsAsFullDisk) {
  TemporaryFolder folder;
  auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old, low;
  getrlimit(RLIMIT_FSIZE, &old);
  low = {100, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &low);
  auto write = [&] {
    replaceFile(folder / "f", [](DurableFile &file) {
      file.append(std::string(200, 'x').data(), 200);
      file.commit();
    });
  };
  EXPECT_THROW(write(), DiskFull);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  EXPECT_TRUE(fs::is_empty(folder.path)); // no temporary is left
}

} // namespace
