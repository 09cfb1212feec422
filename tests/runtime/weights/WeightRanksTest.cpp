// Each rank reads its part of the weights, by path and by map; what one rank refuses, all refuse.

#include "runtime/ranks/Agreement.h"
#include "runtime/weights/ModelWeights.h"
#include "runtime/weights/WholeModel.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/checkpoint/DividedState.h"
#include "tests/runtime/ranks/ThreadRanks.h"
#include "tests/runtime/weights/TensorFile.h"

#include <cmath>

using namespace tessera;
using namespace tessera::tests;

namespace {

/// Two layers of wq, wk [embed 3, hd 5], an embedding [vocab 7, embed 3] and a moment.
class WeightRanks : public testing::Test {
protected:
  void SetUp() override { divide({{"data", 2}, {"tensor", 2}}); }

  void divide(const std::vector<MeshAxisSpec> &mesh) {
    manifest = manifestFor({{"h.wq",
                             "weight",
                             ElementType::F32,
                             {{"hd", 5}, {"layer", 2}, {"embed", 3}},
                             {"layer", "embed", "hd"},
                             {{"hd", "tensor"}, {"layer", "data"}}},
                            {"h.wk",
                             "weight",
                             ElementType::F32,
                             {{"layer", 2}, {"embed", 3}, {"hd", 5}},
                             {"layer", "embed", "hd"},
                             {{"embed", "data"}}},
                            {"wte",
                             "weight",
                             ElementType::F32,
                             {{"vocab", 7}, {"embed", 3}},
                             {"vocab", "embed"},
                             {{"vocab", "tensor"}, {"embed", "data"}}},
                            {"wte.m", "moment", ElementType::F32, {{"vocab", 7}, {"embed", 3}}, {"vocab", "embed"}}},
                           mesh);
  }

  /// Loads on all ranks; the parameters must be `tensors`, in canonical order, with zeros in the padding.
  void expectLoads(const std::string &path, const WeightOptions &options = {}) {
    onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
      std::vector<char> memory(manifest.arena.bytes, 'u');
      EXPECT_EQ(loadWeights(path, options, manifest, addressIn(memory), world).read, 3u);
      for (const TestTensor &tensor : plain) {
        const StateEntry &entry = *manifest.stateAt(tensor.name);
        std::vector<int64_t> numbers = wholeNumbers(manifest, entry, world.rank());
        std::vector<float> loaded(numbers.size());
        memcpy(loaded.data(), memory.data() + entry.offset, entry.bytes);
        for (size_t i = 0; i < numbers.size(); ++i)
          EXPECT_EQ(loaded[i], numbers[i] < 0 ? 0 : tensor.elements[numbers[i]])
              << tensor.name << " on rank " << world.rank() << ", element " << i;
      }
      const StateEntry &moment = *manifest.stateAt("wte.m");
      EXPECT_EQ(memory[moment.offset], 'u'); // not a parameter
    });
  }

  /// The message of the RankError that all ranks throw.
  std::string errorOf(const std::string &path, const WeightOptions &options = {}) {
    std::vector<std::string> said(ranksOf(manifest));
    onRanks(ranksOf(manifest), [&](HostCommunicator &world) {
      std::vector<char> memory(manifest.arena.bytes, 'u'), untouched = memory;
      try {
        loadWeights(path, options, manifest, addressIn(memory), world);
      } catch (const RankError &error) {
        said[world.rank()] = error.what();
        EXPECT_EQ(memory, untouched);
      }
    });
    for (const std::string &one : said) EXPECT_EQ(one, said[0]);
    return said[0];
  }

  std::string write(const std::vector<TestTensor> &tensors) { return folder.write("w", tensorFile(tensors)); }

  /// Queries and keys of a layer merged, [embed, (2, hd)]; the embedding transposed.
  std::vector<TestTensor> mapped() const {
    std::vector<TestTensor> tensors;
    for (int layer = 0; layer < 2; ++layer) {
      TestTensor &merged = tensors.emplace_back(TestTensor{fmt::format("t.{}.qk", layer), {3, 10}, {}});
      for (int embed = 0; embed < 3; ++embed)
        for (int i = 0; i < 2; ++i)
          for (int hd = 0; hd < 5; ++hd) merged.elements.push_back(plain[i].elements[(layer * 3 + embed) * 5 + hd]);
    }
    TestTensor &embedding = tensors.emplace_back(TestTensor{"embedding", {3, 7}, {}});
    for (int embed = 0; embed < 3; ++embed)
      for (int vocab = 0; vocab < 7; ++vocab) embedding.elements.push_back(plain[2].elements[vocab * 3 + embed]);
    return tensors;
  }
  std::string map(const std::string &more = "") {
    return folder.write("m.map", "\"t.{layer}.qk\" [embed, (2, hd)] = h.{layer}.{wq, wk}\n"
                                 "\"embedding\" [embed, vocab] = wte\n" +
                                     more);
  }

  const std::vector<TestTensor> plain = {
      {"h.wq", {2, 3, 5}, counting(30, 1)}, {"h.wk", {2, 3, 5}, counting(30, 101)}, {"wte", {7, 3}, counting(21, 201)}};
  TemporaryFolder folder;
  Manifest manifest;
};

TEST_F(WeightRanks, LoadByPathAndByMap) {
  for (const std::vector<MeshAxisSpec> &mesh :
       {std::vector<MeshAxisSpec>{}, {{"data", 2}}, {{"tensor", 4}}, {{"data", 2}, {"tensor", 2}}, {{"data", 4}}}) {
    divide(mesh);
    expectLoads(write(plain));
    expectLoads(write(mapped()), {{}, map()});
  }
}

TEST_F(WeightRanks, ConvertedTypes) {
  std::vector<TestTensor> tensors = plain;
  std::string brain;
  for (float element : plain[2].elements) { // exact: integers below 256
    uint32_t bits;
    memcpy(&bits, &element, 4);
    brain += {static_cast<char>(bits >> 16), static_cast<char>(bits >> 24)};
  }
  tensors[2] = {"wte", {7, 3}, {}, "BF16", brain};
  expectLoads(write(tensors));
}

TEST_F(WeightRanks, CheckpointsOfOtherMeshes) {
  std::string path = write(plain);
  Manifest here = manifest;
  divide({{"data", 4}});
  std::filesystem::create_directories(folder / "c");
  onRanks(4, [&](HostCommunicator &world) {
    std::vector<char> memory = memoryOf(manifest, world.rank());
    loadWeights(path, {}, manifest, addressIn(memory), world);
    CheckpointInfo info;
    saveCheckpoint(CheckpointFolder(folder / "c"), info, manifest, addressIn(memory), world);
  });
  manifest = here;
  expectLoads(folder / "c/step-00000000");
}

TEST_F(WeightRanks, NonFiniteElementsOfOnePartAreAnErrorOfAll) {
  std::vector<TestTensor> bad = plain;
  bad[0].elements[29] = NAN; // the last layer, the end of hd: the last rank
  std::string said = errorOf(write(bad));
  EXPECT_TRUE(said.starts_with("rank 3: " + (folder / "w") + ": 'h.wq' at [1, 2, 4] (byte ")) << said;
  bad = mapped();
  bad[1].elements[2 * 10 + 4] = INFINITY; // the same element
  said = errorOf(write(bad), {{}, map()});
  EXPECT_TRUE(said.starts_with("rank 3: " + (folder / "w") + ": 't.1.qk' at [2, 4] (byte ")) << said;
}

TEST_F(WeightRanks, ShapesAreThoseOfTheWhole) {
  std::vector<TestTensor> bad = plain;
  bad[2].shape = {21};
  EXPECT_NE(errorOf(write(bad)).find("'wte' has the shape [21], the program was compiled for [vocab: 7, embed: 3]"),
            std::string::npos);
  EXPECT_NE(errorOf(write({plain[0]})).find("it lacks h.wk, wte"), std::string::npos);
  EXPECT_NE(errorOf(folder / "missing").find("cannot open " + (folder / "missing")), std::string::npos);
}

TEST_F(WeightRanks, TiedTensorsAreComparedByParts) {
  std::string tied = map("tied \"head\" [vocab, embed] = wte");
  std::vector<TestTensor> tensors = mapped();
  tensors.push_back({"head", {7, 3}, plain[2].elements});
  expectLoads(write(tensors), {{}, tied});
  tensors.back().elements[20] += 1;
  std::string path = write(tensors);
  onRanks(4, [&](HostCommunicator &world) {
    std::vector<char> memory(manifest.arena.bytes);
    std::string said = messageOf([&] { loadWeights(path, {{}, tied}, manifest, addressIn(memory), world); });
    EXPECT_TRUE(said.starts_with("rank 3: " + path + ": 'head' differs from 'wte'")) << said;
  });
}

TEST_F(WeightRanks, OneProcessExportsTheWholeModel) {
  WholeModel model(manifest);
  OneRank world;
  EXPECT_EQ(loadWeights(write(mapped()), {{}, map()}, model.manifest(), model.address(), world).read, 3u);
  DurableFile out(folder / "out");
  EXPECT_EQ(saveWeights(out, {}, model.manifest(), model.address()), 3u);
  SafetensorsFile file(folder / "out");
  for (const TestTensor &tensor : plain) {
    const SafeTensor *written = file.find(tensor.name);
    ASSERT_TRUE(written) << tensor.name;
    EXPECT_EQ(written->shape, tensor.shape);
    EXPECT_EQ(memcmp(written->data, tensor.elements.data(), written->bytes), 0) << tensor.name;
  }
}

TEST_F(WeightRanks, PartsAreNotWritten) {
  std::vector<char> memory(manifest.arena.bytes);
  DurableFile file(folder / "out");
  EXPECT_EQ(messageOf([&] { saveWeights(file, {}, manifest, addressIn(memory)); }),
            "expected an axis of the mesh, got 'data': this mesh has none");
}

} // namespace
