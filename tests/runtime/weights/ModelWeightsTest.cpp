// Weights correspond to parameters by name, by pattern and by map, bit for bit in both directions.

#include "runtime/weights/ModelWeights.h"
#include "tests/runtime/TemporaryFolder.h"
#include "tests/runtime/weights/TensorFile.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// Two layers with wq, wk [embed 3, hd 2] each, an output wo [hd 2, embed 3], an embedding and a moment.
class ModelWeights : public testing::Test {
protected:
  void SetUp() override {
    add("h.wq", "weight", {{"layer", 2}, {"embed", 3}, {"hd", 2}}, {"layer", "embed", "hd"});
    add("h.wk", "weight", {{"hd", 2}, {"layer", 2}, {"embed", 3}}, {"layer", "embed", "hd"}); // memory is permuted
    add("h.wo", "weight", {{"layer", 2}, {"hd", 2}, {"embed", 3}}, {"layer", "hd", "embed"});
    add("wte", "weight", {{"vocab", 2}, {"embed", 3}}, {"vocab", "embed"});
    add("wte.m", "moment", {{"vocab", 2}, {"embed", 3}}, {"vocab", "embed"});
    memory = counting(manifest.arena.bytes / 4, 1000);
  }

  void add(const std::string &path, const std::string &kind, std::vector<AxisSpec> axes,
           std::vector<std::string> canonical) {
    int64_t bytes = 4;
    for (const AxisSpec &axis : axes) bytes *= axis.size;
    manifest.state.push_back({path, kind, ElementType::F32, axes, canonical, manifest.arena.bytes, bytes});
    manifest.arena.bytes += bytes;
  }

  StateAddress address(std::vector<float> &where) {
    return [&where](const StateEntry &entry) { return reinterpret_cast<char *>(where.data()) + entry.offset; };
  }

  /// The canonical elements of a parameter in memory.
  std::vector<float> elements(const std::string &path) {
    const StateEntry &entry = *manifest.stateAt(path);
    std::vector<AxisSpec> axes = entry.canonicalAxes();
    std::vector<float> result;
    for (int64_t i = 0; i < entry.bytes / 4; ++i) {
      int64_t rest = i, at = 0;
      for (size_t axis = axes.size(); axis-- > 0; rest /= axes[axis].size) {
        int64_t stride = 1;
        for (size_t k = entry.axes.size(); k-- > 0 && entry.axes[k].name != axes[axis].name;)
          stride *= entry.axes[k].size;
        at += rest % axes[axis].size * stride;
      }
      result.push_back(memory[entry.offset / 4 + at]);
    }
    return result;
  }

  LoadedWeights load(const std::string &path, const WeightOptions &options = {}) {
    OneRank world;
    return loadWeights(path, options, manifest, address(memory), world);
  }

  std::string errorOf(const std::string &path, WeightOptions options = {}) {
    options.isOffered = true;
    try {
      load(path, options);
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  }

  void expectError(const std::string &path, const WeightOptions &options, const std::string &part) {
    std::string error = errorOf(path, options);
    EXPECT_NE(error.find(part), std::string::npos) << part << ", got: " << error;
  }

  std::string write(const std::vector<TestTensor> &tensors) { return folder.write("w", tensorFile(tensors)); }
  std::string writeMap(const std::string &text) { return folder.write("m.map", text); }

  const std::vector<TestTensor> plain = {{"h.wk", {2, 3, 2}, counting(12, 20)},
                                         {"h.wo", {2, 2, 3}, counting(12, 40)},
                                         {"h.wq", {2, 3, 2}, counting(12)},
                                         {"wte", {2, 3}, counting(6, 60)}};
  /// The same elements: queries and keys merged behind each other, [in, out]; outputs transposed, [out, in].
  const std::vector<TestTensor> mapped = {
      {"t.0.qk", {3, 4}, {0, 1, 20, 21, 2, 3, 22, 23, 4, 5, 24, 25}},
      {"t.0.o", {3, 2}, {40, 43, 41, 44, 42, 45}},
      {"t.1.qk", {3, 4}, {6, 7, 26, 27, 8, 9, 28, 29, 10, 11, 30, 31}},
      {"t.1.o", {3, 2}, {46, 49, 47, 50, 48, 51}},
      {"embedding", {3, 2}, {60, 63, 61, 64, 62, 65}},
  };
  const std::string mapText = "\"t.{layer}.qk\" [embed, (2, hd)] = h.{layer}.{wq, wk}\n"
                              "\"t.{layer}.o\" [embed, hd] = h.{layer}.wo\n"
                              "\"embedding\" [embed, vocab] = wte\n";
  TemporaryFolder folder;
  Manifest manifest;
  std::vector<float> memory;
};

TEST_F(ModelWeights, LoadsByPath) {
  EXPECT_EQ(load(write(plain)).read, 4u);
  for (const TestTensor &tensor : plain) EXPECT_EQ(elements(tensor.name), tensor.elements) << tensor.name;
  EXPECT_EQ(elements("wte.m")[0], 1000 + 42); // not a parameter
}

TEST_F(ModelWeights, LoadsByMap) {
  WeightOptions options{{}, writeMap(mapText)};
  EXPECT_EQ(load(write(mapped), options).read, 4u);
  for (const TestTensor &tensor : plain) EXPECT_EQ(elements(tensor.name), tensor.elements) << tensor.name;
}

TEST_F(ModelWeights, SavesByMapWhatItLoads) {
  WeightOptions options{{}, writeMap(mapText)};
  load(write(mapped), options);
  DurableFile out(folder / "out");
  EXPECT_EQ(saveWeights(out, options, manifest, address(memory)), 5u);
  SafetensorsFile file(folder / "out");
  ASSERT_EQ(file.tensors().size(), 5u);
  for (const TestTensor &tensor : mapped) {
    const SafeTensor *written = file.find(tensor.name);
    ASSERT_TRUE(written) << tensor.name;
    EXPECT_EQ(written->shape, tensor.shape) << tensor.name;
    EXPECT_EQ(std::string(written->data, written->bytes),
              std::string(reinterpret_cast<const char *>(tensor.elements.data()), tensor.elements.size() * 4))
        << tensor.name;
  }
  EXPECT_EQ(file.find("t.1.qk")->axes, "[embed, (2, hd)]");
  std::string text = readFile(folder / "out");
  EXPECT_NE(text.find(R"("format":"pt")"), std::string::npos);
}

TEST_F(ModelWeights, MissingAndLeftOverAreErrors) {
  std::vector<TestTensor> some(plain.begin(), plain.begin() + 2);
  some.push_back({"h.0.mask", {1}, {1}});
  some.push_back({"h.1.mask", {1}, {1}});
  expectError(write(some), {},
              "does not fit the program: it lacks h.wq, wte; the program has no h.*.mask (2); `info` lists the "
              "parameters; to read a part, give --only PATTERN");
  EXPECT_EQ(elements("h.wk")[0], 1000 + 12); // nothing was loaded
  some = mapped;
  some.pop_back();
  some.push_back({"x", {1}, {1}});
  expectError(write(some), {{}, writeMap(mapText)}, "it lacks embedding; no line of the map names x; change the map");
}

TEST_F(ModelWeights, OnlyTakesAPart) {
  std::vector<TestTensor> some = {plain[0], plain[2], {"x.0.a", {1}, {1}}, {"x.1.a", {1}, {1}}};
  LoadedWeights loaded = load(write(some), {{"h.**"}, ""});
  EXPECT_EQ(loaded.read, 2u);
  EXPECT_EQ(loaded.missing, std::vector<std::string>{"h.wo"});
  EXPECT_EQ(loaded.notSelected, std::vector<std::string>{"wte"});
  EXPECT_EQ(listOfNames(loaded.leftOver), "x.*.a (2)");
  EXPECT_EQ(elements("h.wk"), plain[0].elements);
  EXPECT_EQ(elements("wte")[0], 1000 + 36); // as before
  loaded = load(write(plain), {{"h.wq"}, ""});
  EXPECT_EQ(loaded.leftOver, (std::vector<std::string>{"h.wk", "h.wo", "wte"}));
  EXPECT_TRUE(loaded.missing.empty());
  EXPECT_EQ(load(write(plain), {{"weight"}, ""}).read, 4u); // a kind
}

TEST_F(ModelWeights, PatternsMustSelectSomething) {
  std::string file = write({plain[0]});
  expectError(file, {{"h.wz"}, ""}, "--only h.wz: no parameter has this path; did you mean 'h.wq'?");
  expectError(file, {{"h.wk", "wte"}, ""}, "--only wte: " + file + " has none of these parameters");
  expectError(file, {{"m.**"}, ""}, "--only m.**: no parameter has this path");
}

TEST_F(ModelWeights, OnlyWithAMapReadsPartsOfTensors) {
  std::vector<float> before = elements("h.wk");
  LoadedWeights loaded = load(write(mapped), {{"h.wq"}, writeMap(mapText)});
  EXPECT_EQ(loaded.read, 1u);
  EXPECT_EQ(elements("h.wq"), plain[2].elements);
  EXPECT_EQ(elements("h.wk"), before);
}

TEST_F(ModelWeights, ParametersAreReadWholeOrNotAtAll) {
  std::vector<TestTensor> some = mapped;
  some.erase(some.begin() + 2); // the second layer's queries and keys
  expectError(write(some), {{"**"}, writeMap(mapText)},
              "has 't.0.qk' for 'h.wq', but lacks t.1.qk; is the model compiled for as many layers");
}

TEST_F(ModelWeights, PrefixMayBeMissing) {
  std::string map = writeMap("optional prefix \"t.\"\n" + mapText);
  std::vector<TestTensor> bare = mapped;
  for (TestTensor &tensor : bare)
    if (tensor.name.starts_with("t.")) tensor.name = tensor.name.substr(2);
  EXPECT_EQ(load(write(bare), {{}, map}).read, 4u);
  EXPECT_EQ(elements("h.wo"), plain[1].elements);
  bare.push_back(mapped[0]);
  expectError(write(bare), {{}, map}, "has 't.0.qk' and '0.qk', with and without the prefix of the map");
}

TEST_F(ModelWeights, IgnoredTensorsAreNotRead) {
  std::vector<TestTensor> more = mapped;
  more.push_back({"t.0.mask", {1}, {-INFINITY}});
  more.push_back({"t.1.mask", {2}, {}, "I16", "abcd"}); // a type that programs do not have
  EXPECT_EQ(load(write(more), {{}, writeMap(mapText + "ignore \"t.*.mask\"")}).read, 4u);
  expectError(write(more), {{}, writeMap(mapText)}, "no line of the map names t.*.mask (2)");
}

TEST_F(ModelWeights, TiedTensorsMustBeEqual) {
  std::string map = writeMap(mapText + "tied \"head\" [vocab, embed] = wte");
  EXPECT_EQ(load(write(mapped), {{}, map}).read, 4u); // it may be missing
  std::vector<TestTensor> more = mapped;
  more.push_back({"head", {2, 3}, counting(6, 60)});
  EXPECT_EQ(load(write(more), {{}, map}).read, 4u);
  more.back().elements[3] += 1;
  expectError(write(more), {{}, map}, "'head' differs from 'wte'");
  DurableFile out(folder / "out");
  EXPECT_EQ(saveWeights(out, {{}, map}, manifest, address(memory)), 5u); // written once
}

TEST_F(ModelWeights, MapsThatDoNotFitAreRefused) {
  std::string file = write(mapped);
  auto expectMapError = [&](const std::string &text, const std::string &error) {
    expectError(file, {{}, writeMap(text)}, "m.map:" + error);
  };
  expectMapError(
      "\"a\" [embed, hd] = h.wq",
      "1:1: 'h.wq' is [layer: 2, embed: 3, hd: 2], and the line names no axis `layer`; add it to the brackets, "
      "or as {layer} to the name");
  expectMapError("\"a.{layer}\" [embed, hd, x] = h.{layer}.wq",
                 "1:1: 'h.wq' has no axis `x`; it is [layer: 2, embed: 3, hd: 2]");
  expectMapError("\"a.{layer}\" [2, embed, hd] = h.{layer}.{wq, wv}",
                 "1:1: the program has no parameter 'h.wv'; did you mean 'h.w");
  expectMapError("\"a.{layer}\" [2, embed, hd, vocab] = {h.wq, wte}", "1:1: 'h.wq' has no axis `vocab`");
  expectMapError(mapText + "\"a.{layer}\" [embed, hd] = h.{layer}.wq", "4:1: 'h.wq' is also in the line ");
  expectMapError("\"embedding\" [embed, vocab] = wte\n\"embedding\" [layer, hd, embed] = h.wo",
                 "2:1: the tensor 'embedding' is also in the line ");
}

TEST_F(ModelWeights, ParametersOfOneTensorHaveEqualSizesAndTypes) {
  manifest.state = {{"a", "weight", ElementType::F32, {}, {}, 0, 4},
                    {"b", "weight", ElementType::BF16, {}, {}, 4, 2},
                    {"v", "weight", ElementType::F32, {{"x", 2}}, {"x"}, 8, 8},
                    {"w", "weight", ElementType::F32, {{"x", 3}}, {"x"}, 16, 12}};
  expectError(write(plain), {{}, writeMap("\"g\" [2] = {a, b}")},
              "m.map:1:1: 'a' and 'b' share a tensor, so they need equal sizes and types; they are [] f32 and [] bf16");
  expectError(write(plain), {{}, writeMap("\"g\" [2, x] = {v, w}")}, "they are [x: 2] f32 and [x: 3] f32");
}

TEST_F(ModelWeights, LinesWithoutParametersAreMistakesIfTheFileHasTheirTensors) {
  std::vector<TestTensor> more = mapped;
  more.push_back({"t.0.b", {3}, {1, 2, 3}});
  std::string map = writeMap(mapText + "\"t.{layer}.b\" [embed] = h.{layer}.wqq");
  expectError(write(more), {{}, map}, ":4:1: the program has no parameter 'h.wqq', and ");
  EXPECT_EQ(load(write(mapped), {{}, map}).read, 4u);
}

TEST_F(ModelWeights, SizesAreChecked) {
  std::vector<TestTensor> bad = mapped;
  bad[3].shape = {2, 3};
  expectError(write(bad), {{}, writeMap(mapText)},
              "'t.1.o' has the shape [2, 3], the program was compiled for "
              "[embed: 3, hd: 2] (");
  bad = plain;
  bad[3].shape = {6};
  expectError(write(bad), {}, "'wte' has the shape [6], the program was compiled for [vocab: 2, embed: 3]");
}

TEST_F(ModelWeights, NonFiniteElementsAreRefused) {
  std::vector<TestTensor> bad = mapped;
  bad[0].elements[5] = NAN;
  expectError(write(bad), {{}, writeMap(mapText)}, "'t.0.qk' at [1, 1]");
}

TEST_F(ModelWeights, ConvertsReducedPrecision) {
  // 1, -2, 0.5, the smallest subnormal, 65504, -0 as f16; the same without what bf16 rounds.
  uint16_t half[] = {0x3c00, 0xc000, 0x3800, 0x0001, 0x7bff, 0x8000};
  std::vector<TestTensor> converted = plain;
  converted[3] = {"wte", {2, 3}, {}, "F16", std::string(reinterpret_cast<char *>(half), 12)};
  load(write(converted));
  EXPECT_EQ(elements("wte"), (std::vector<float>{1, -2, 0.5, 0x1p-24f, 65504, -0.0f}));
  EXPECT_TRUE(std::signbit(elements("wte")[5]));
  uint16_t brain[] = {0x3f80, 0xc000, 0x3f00, 0x0000, 0x4780, 0x8000};
  converted[3] = {"wte", {2, 3}, {}, "BF16", std::string(reinterpret_cast<char *>(brain), 12)};
  load(write(converted));
  EXPECT_EQ(elements("wte"), (std::vector<float>{1, -2, 0.5, 0, 65536, -0.0f}));
  converted[3] = {"wte", {2, 3}, {}, "I16", std::string(12, 'x')};
  expectError(write(converted), {}, "'wte' is of type I16, the program expects f32");
}

TEST_F(ModelWeights, ElementsThatAreInfiniteInBf16AreRefused) {
  manifest.state = {{"w", "weight", ElementType::BF16, {{"a", 2}}, {"a"}, 0, 4}};
  memory.assign(1, 0);
  float half = 0x1.ffp127f; // between the largest bf16 and what would be the next one
  float below = std::nextafter(half, 0.0f);
  EXPECT_EQ(load(write({{"w", {2}, {-below, 1}}})).read, 1u);
  uint32_t expected = 0x3f80ff7f;
  EXPECT_EQ(memcmp(memory.data(), &expected, 4), 0);
  expectError(write({{"w", {2}, {1, half}}}), {}, "'w' at [1] (byte ");
  expectError(write({{"w", {2}, {1, -FLT_MAX}}}), {}, ") is infinite in bf16, which makes all results non-finite");
}

TEST_F(ModelWeights, OtherOrdersOfEqualAxesAreRefused) {
  // The sizes are equal, so only the names of the axes show that the elements are in another order.
  manifest.state.clear(), manifest.arena.bytes = 0;
  add("w", "weight", {{"a", 2}, {"b", 2}}, {"a", "b"});
  memory.assign(4, 0);
  auto file = [&](const std::string &axes) {
    return folder.write("w", tensorFile({{"w", {2, 2}, counting(4)}}, {{"axes.w", axes}}));
  };
  EXPECT_EQ(load(file("[a, b]")).read, 1u);
  EXPECT_EQ(load(file("[b, renamed]")).read, 1u);
  expectError(file("[b, a]"), {}, "'w' has the axes [b, a] in the file, in this order, and [a, b] here");
  EXPECT_EQ(load(file("[b, a]"), {{}, writeMap("\"w\" [b, a] = w")}).read, 1u);
  EXPECT_EQ(memory, (std::vector<float>{0, 2, 1, 3}));
}

TEST_F(ModelWeights, ExportsAPart) {
  DurableFile out(folder / "out");
  EXPECT_EQ(saveWeights(out, {{"h.wo", "wte"}, ""}, manifest, address(memory)), 2u);
}

TEST_F(ModelWeights, ExportsOfMergedTensorsAreWholeOrRefused) {
  auto errorOfExport = [&](const WeightOptions &options) -> std::string {
    try {
      DurableFile out(folder / "out");
      saveWeights(out, options, manifest, address(memory));
    } catch (const Error &error) {
      return error.what();
    }
    return "";
  };
  std::string map = writeMap(mapText);
  EXPECT_EQ(errorOfExport({{"h.wq", "h.wk"}, map}), "");
  EXPECT_NE(errorOfExport({{"h.wq"}, map}).find("'t.0.qk' contains 2 parameters, of which --only selects 1"),
            std::string::npos);
  EXPECT_NE(errorOfExport({{}, writeMap("\"embedding\" [embed, vocab] = wte")}).find("has h.wk, h.wo, h.wq; add it"),
            std::string::npos);
  EXPECT_EQ(errorOfExport({{"wtf"}, ""}), "--only wtf: no parameter has this path; did you mean 'wte'?");
  EXPECT_EQ(errorOfExport({{"something.else"}, ""}), "--only something.else: no parameter has this path; `info` lists "
                                                     "them");
}

} // namespace
