// Checkpoints do not depend on the mesh: any mesh writes the bytes that one rank writes, and reads what any other
// wrote. What fails or is damaged on one rank is so on all.

#include "runtime/checkpoint/SharedFolder.h"
#include "runtime/ranks/Agreement.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/checkpoint/DividedState.h"
#include "tests/runtime/ranks/ThreadRanks.h"

#include <unistd.h>

using namespace tessera;
using namespace tessera::tests;

namespace fs = std::filesystem;

namespace {

std::vector<std::vector<MeshAxisSpec>> meshes() {
  return {
      {},
      {{"data", 1}},
      {{"data", 2}},
      {{"tensor", 2}},
      {{"data", 4}},
      {{"tensor", 4}},
      {{"data", 2}, {"tensor", 2}},
      {{"data", 8}},
      {{"tensor", 2}, {"data", 4}},
  };
}

/// Outer, inner and permuted axes, sizes that ranks do not divide, ranks without elements; `big` has several pieces.
std::vector<WholeState> states() {
  return {
      {"w", "weight", ElementType::F32, {{"embed", 6}, {"ff", 10}}, {"ff", "embed"}, {{"ff", "tensor"}}},
      {"v",
       "weight",
       ElementType::BF16,
       {{"layer", 3}, {"vocab", 7}, {"embed", 6}},
       {"vocab", "layer", "embed"},
       {{"vocab", "tensor"}}},
      {"b", "bias", ElementType::F32, {{"ff", 10}}, {"ff"}},
      {"w.m",
       "moment",
       ElementType::F32,
       {{"embed", 6}, {"ff", 10}},
       {"ff", "embed"},
       {{"ff", "tensor"}, {"embed", "data"}}},
      {"v.m",
       "moment",
       ElementType::F32,
       {{"layer", 3}, {"vocab", 7}, {"embed", 6}},
       {"layer", "vocab", "embed"},
       {{"layer", "data"}}},
      {"b.m", "moment", ElementType::F32, {{"ff", 10}}, {"ff"}, {{"ff", "data"}}},
      {"big", "moment", ElementType::F32, {{"x", 300'000}}, {"x"}},
      {"step", "counter", ElementType::I32, {}, {}},
  };
}

CheckpointInfo infoAt(int64_t step) {
  CheckpointInfo info;
  info.model = "m", info.step = step, info.position = step + 2, info.seed = 5, info.data = "d=x";
  return info;
}

/// Saves the state of a mesh into `folder` and returns the path.
std::string save(const Manifest &manifest, const std::string &folder, int64_t step = 10) {
  fs::create_directories(folder);
  std::vector<std::string> paths(ranksOf(manifest));
  onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
    std::vector<char> memory = memoryOf(manifest, world.rank());
    paths[world.rank()] = saveCheckpoint(CheckpointFolder(folder), infoAt(step), manifest, addressIn(memory), world);
  });
  for (const std::string &path : paths) EXPECT_EQ(path, paths[0]);
  return paths[0];
}

/// Of each rank.
std::vector<std::vector<char>> memoriesOf(const Manifest &manifest) {
  std::vector<std::vector<char>> memories;
  for (int rank = 0; rank < ranksOf(manifest); ++rank) memories.push_back(memoryOf(manifest, rank));
  return memories;
}

void expectLoads(const Manifest &manifest, const std::string &path, const std::vector<std::vector<char>> &memories) {
  onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
    const std::vector<char> &expected = memories[world.rank()];
    std::vector<char> memory(manifest.arena.bytes, 'u');
    CheckpointInfo info = loadCheckpoint(path, manifest, addressIn(memory), world);
    EXPECT_EQ(info.position, 12);
    for (const StateEntry &entry : manifest.state)
      EXPECT_EQ(memcmp(&memory[entry.offset], &expected[entry.offset], entry.bytes), 0)
          << entry.path << " on rank " << world.rank() << " of " << world.size();
  });
}

void expectLoads(const Manifest &manifest, const std::string &path) {
  expectLoads(manifest, path, memoriesOf(manifest));
}

class CheckpointRanks : public testing::Test {
protected:
  /// The message of the error that saving throws on all ranks, rank by rank into `pathOf`.
  std::string errorOfSaving(const std::function<std::string(int rank)> &pathOf) {
    std::vector<std::string> said(ranksOf(manifest));
    onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
      std::vector<char> memory = memoryOf(manifest, world.rank());
      try {
        saveCheckpoint(CheckpointFolder(pathOf(world.rank())), infoAt(20), manifest, addressIn(memory), world);
      } catch (const RankError &error) {
        EXPECT_EQ(error.exitStatus(), ExitStatus::Fault);
        said[world.rank()] = error.what();
      }
    });
    for (const std::string &one : said) EXPECT_EQ(one, said[0]);
    return said[0];
  }

  enum class Outcome { Loaded, Error, Damaged };
  /// What loading does, the same on all ranks, and the message.
  std::pair<Outcome, std::string> load(const std::function<std::string(int rank)> &pathOf) {
    std::vector<std::pair<Outcome, std::string>> seen(ranksOf(manifest));
    onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
      std::vector<char> memory(manifest.arena.bytes, 'u'), untouched = memory;
      try {
        loadCheckpoint(pathOf(world.rank()), manifest, addressIn(memory), world);
        return;
      } catch (const CheckpointDamaged &error) {
        seen[world.rank()] = {Outcome::Damaged, error.what()};
      } catch (const RankError &error) {
        seen[world.rank()] = {Outcome::Error, error.what()};
      }
      EXPECT_EQ(memory, untouched);
    });
    for (const auto &one : seen) {
      EXPECT_EQ(one.first, seen[0].first);
      EXPECT_EQ(one.second, seen[0].second);
    }
    return seen[0];
  }

  /// What another process of the same number left: rank `rank` of a save into `c` sees the files of `links` instead.
  std::string otherView(const std::map<std::string, std::string> &links) {
    std::string name = fmt::format(".tmp-step-00000020-{}", getpid()), view = temporary / "view";
    fs::create_directories(view + "/" + name);
    for (const char *file : {manifestFile, modelFile, optimizerFile}) {
      auto link = links.find(file);
      std::string target = link == links.end() ? temporary / ("c/" + name + "/" + file) : link->second;
      fs::create_symlink(target, view + "/" + name + "/" + file);
    }
    return view;
  }

  /// A file of the checkpoint that errorOfSaving() saves.
  std::string newFile(const std::string &folder, const char *name) {
    return fmt::format("{}/{}/{}", folder, checkpointName(20), name);
  }

  std::vector<std::string> namesIn(const std::string &folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  void damage(const std::string &file) {
    std::string bytes = readFile(file);
    bytes.back() ^= 1;
    std::ofstream(file, std::ios::binary) << bytes;
  }

  TemporaryFolder temporary;
  Manifest manifest = manifestFor(states(), {{"data", 2}, {"tensor", 2}});
};

TEST_F(CheckpointRanks, AnyMeshSavesTheSameBytesAndLoadsThem) {
  std::vector<Manifest> manifests;
  std::vector<std::string> paths;
  for (const auto &mesh : meshes()) {
    manifests.push_back(manifestFor(states(), mesh));
    paths.push_back(save(manifests.back(), temporary / std::to_string(paths.size())));
  }
  for (size_t i = 0; i < paths.size(); ++i)
    for (const char *file : {modelFile, optimizerFile, manifestFile})
      EXPECT_TRUE(readFile(paths[i] + "/" + file) == readFile(paths[0] + "/" + file)) << file << ", mesh " << i;
  for (const Manifest &other : manifests) {
    std::vector<std::vector<char>> memories = memoriesOf(other);
    for (const std::string &path : paths) expectLoads(other, path, memories);
  }
}

TEST_F(CheckpointRanks, ManyChunksAreHashedByAll) {
  std::vector<WholeState> large = {
      {"w", "weight", ElementType::F32, {{"a", 1'100}, {"b", 10'000}}, {"a", "b"}, {{"b", "data"}}}, // three chunks
      {"w.m", "moment", ElementType::F32, {{"a", 5'000'000}}, {"a"}}};                               // two
  std::string alone = save(manifestFor(large, {}), temporary / "1");
  manifest = manifestFor(large, {{"data", 2}});
  std::string path = save(manifest, temporary / "2");
  EXPECT_TRUE(readFile(path + "/" + manifestFile) == readFile(alone + "/" + manifestFile));
  expectLoads(manifest, path);
  auto pathOf = [&](int) { return path; };
  damage(path + "/" + modelFile); // chunk 2: of rank 0
  auto [outcome, said] = load(pathOf);
  EXPECT_EQ(outcome, Outcome::Damaged);
  EXPECT_EQ(said.substr(0, 8), "rank 0: ") << said;
  fs::copy_file(alone + "/" + modelFile, path + "/" + modelFile, fs::copy_options::overwrite_existing);
  EXPECT_EQ(load(pathOf).first, Outcome::Loaded);
  fs::resize_file(path + "/" + modelFile, 100); // seen by all, said by the first
  EXPECT_EQ(load(pathOf).first, Outcome::Damaged);
}

TEST_F(CheckpointRanks, DamageThatOneRankFindsIsThatOfAll) {
  std::string path = save(manifest, temporary / "c");
  damage(path + "/" + optimizerFile); // the second chunk of all: rank 1 verifies it
  auto [outcome, said] = load([&](int) { return path; });
  EXPECT_EQ(outcome, Outcome::Damaged);
  EXPECT_TRUE(said.starts_with("rank 1: " + path + "/optimizer.safetensors: bytes 0 to ")) << said;
  damage(path + "/" + optimizerFile);
  EXPECT_EQ(load([&](int) { return path; }).first, Outcome::Loaded);
}

TEST_F(CheckpointRanks, CopiesAreVerifiedWholeByEachRank) {
  std::string path = save(manifest, temporary / "c"), copy = temporary / "copy";
  fs::copy(path, copy);
  auto pathOf = [&](int rank) { return rank == 1 ? copy : path; };
  EXPECT_EQ(load(pathOf).first, Outcome::Loaded);
  damage(copy + "/" + modelFile); // the first chunk, which is rank 0's where all see one file
  auto [outcome, said] = load(pathOf);
  EXPECT_EQ(outcome, Outcome::Damaged);
  EXPECT_TRUE(said.starts_with("rank 1: " + copy)) << said;
}

TEST_F(CheckpointRanks, RanksMustSeeTheSameCheckpoint) {
  std::string path = save(manifest, temporary / "c"), other = save(manifest, temporary / "other", 11);
  auto [outcome, said] = load([&](int rank) { return rank == 2 ? temporary / "nothing" : path; });
  EXPECT_EQ(outcome, Outcome::Error);
  EXPECT_TRUE(said.ends_with(path + ": rank 2 sees no checkpoint there, but rank 0 does; checkpoints must be on a file "
                                    "system that all ranks share"))
      << said;
  std::tie(outcome, said) = load([&](int rank) { return rank == 0 ? temporary / "nothing" : path; });
  EXPECT_EQ(outcome, Outcome::Error);
  EXPECT_NE(said.find("rank 1 sees a checkpoint there, but rank 0 does not"), std::string::npos) << said;
  std::tie(outcome, said) = load([&](int rank) { return rank == 3 ? other : path; });
  EXPECT_EQ(outcome, Outcome::Error);
  EXPECT_NE(said.find("rank 3 sees another checkpoint there than rank 0"), std::string::npos) << said;
  std::tie(outcome, said) = load([&](int) { return temporary / "nothing"; });
  EXPECT_EQ(outcome, Outcome::Damaged);
}

TEST_F(CheckpointRanks, FilesThatOneRankCannotReadAreNotDamage) {
  std::string path = save(manifest, temporary / "c"), copy = temporary / "copy";
  fs::copy(path, copy);
  fs::remove(copy + "/" + modelFile);
  fs::create_symlink(modelFile, copy + "/" + modelFile); // a loop of links
  auto [outcome, said] = load([&](int rank) { return rank == 3 ? copy : path; });
  EXPECT_EQ(outcome, Outcome::Error);
  EXPECT_TRUE(said.starts_with("rank 3: cannot read " + copy + "/model.safetensors: ")) << said;
}

TEST_F(CheckpointRanks, AFullDiskOfOneRankIsAnErrorOfAll) {
  save(manifest, temporary / "c");
  std::string view = otherView({{modelFile, "/dev/full"}});
  std::string said = errorOfSaving([&](int rank) { return rank == 1 ? view : temporary / "c"; });
  EXPECT_EQ(said, "rank 1: cannot write " + newFile(view, modelFile) + ": No space left on device");
  EXPECT_EQ(namesIn(temporary / "c"), std::vector<std::string>{"step-00000010"}); // nothing is left over
  expectLoads(manifest, temporary / "c/step-00000010");
}

TEST_F(CheckpointRanks, FilesThatOneRankCannotWriteAreAnErrorOfAll) {
  fs::create_directories(temporary / "c");
  std::string view = otherView({{optimizerFile, temporary / "missing/file"}});
  std::string said = errorOfSaving([&](int rank) { return rank == 2 ? view : temporary / "c"; });
  EXPECT_EQ(said, "rank 2: cannot write " + newFile(view, optimizerFile) + ": No such file or directory");
  EXPECT_TRUE(fs::is_empty(temporary / "c"));
}

TEST_F(CheckpointRanks, FoldersThatAreNotSharedAreRefused) {
  for (const char *name : {"c", "local"}) fs::create_directories(temporary / name);
  auto pathOf = [&](int rank) { return temporary / (rank < 2 ? "c" : "local"); };
  EXPECT_EQ(errorOfSaving(pathOf), "rank 2: cannot write " + (temporary / "local/step-00000020") +
                                       ": this rank does not see the folder that rank 0 created for it; the checkpoint "
                                       "folder must be on a file system that all ranks share");
  EXPECT_TRUE(fs::is_empty(temporary / "c"));
  // A folder of the same name, as another run left it there.
  temporary.write("token", "process 1 writes 0123\n");
  std::string view = otherView({{manifestFile, temporary / "token"}});
  EXPECT_NE(errorOfSaving([&](int rank) { return rank == 1 ? view : temporary / "c"; }).find("rank 1: cannot write"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(temporary / "c"));
}

TEST_F(CheckpointRanks, FoldersThatAreNotSharedAreFoundBeforeTheFirstSave) {
  for (const char *name : {"c", "local"}) fs::create_directories(temporary / name);
  auto errorOf = [&](const std::function<std::string(int rank)> &pathOf) {
    std::vector<std::string> said(3);
    onRanks(3, [&](HostCommunicator &world) {
      try {
        requireSharedFolder(CheckpointFolder(pathOf(world.rank())), world);
      } catch (const RankError &error) {
        EXPECT_EQ(error.exitStatus(), ExitStatus::Fault);
        said[world.rank()] = error.what();
      }
    });
    for (const std::string &one : said) EXPECT_EQ(one, said[0]);
    EXPECT_TRUE(fs::is_empty(temporary / "c"));
    return said[0];
  };
  EXPECT_EQ(errorOf([&](int) { return temporary / "c"; }), "");
  for (const char *other : {"local", "missing"}) // an own folder of that name, and none
    EXPECT_EQ(
        errorOf([&](int rank) { return temporary / (rank == 1 ? other : "c"); }),
        "rank 1: the checkpoint folder " + (temporary / other) +
            " is not that of rank 0: what rank 0 creates there is not seen here; it must be on a file system that "
            "all ranks share");
  EXPECT_EQ(errorOf([&](int rank) { return temporary / (rank == 0 ? "missing" : "c"); }),
            "rank 0: cannot write to the checkpoint folder " + (temporary / "missing") + ": No such file or directory");
}

TEST_F(CheckpointRanks, AFolderThatCannotBeCreatedIsAnErrorOfAll) {
  std::string said = errorOfSaving([&](int) { return temporary / "missing"; });
  EXPECT_EQ(said, "rank 0: cannot create " + (temporary / "missing/step-00000020") + ": No such file or directory");
  fs::create_directories(temporary / "c");
  temporary.write("c/step-00000020", "a file");
  said = errorOfSaving([&](int) { return temporary / "c"; });
  EXPECT_TRUE(said.ends_with("step-00000020: a file is there")) << said;
  EXPECT_EQ(namesIn(temporary / "c"), std::vector<std::string>{"step-00000020"});
}

TEST_F(CheckpointRanks, SavingReplacesADamagedOne) {
  std::string path = save(manifest, temporary / "c");
  damage(path + "/" + modelFile);
  save(manifest, temporary / "c");
  expectLoads(manifest, path);
  EXPECT_EQ(namesIn(temporary / "c"), std::vector<std::string>{"step-00000010"});
}

TEST_F(CheckpointRanks, AMeshOfAnotherSizeIsRefused) {
  OneRank world;
  std::vector<char> memory = memoryOf(manifest, 0);
  CheckpointFolder folder(temporary / "c");
  EXPECT_EQ(
      messageOf([&] { saveCheckpoint(folder, infoAt(1), manifest, addressIn(memory), world); }),
      "the mesh data=2,tensor=2 is for 4 ranks, but there is 1; start as many, or give a mesh whose sizes multiply "
      "to 1");
}

} // namespace
