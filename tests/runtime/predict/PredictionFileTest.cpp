// Files of predictions: what a format cannot hold is refused before a file is created.

#include "runtime/predict/PredictionFile.h"
#include "runtime/base/Error.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/data/ArrayFile.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

class PredictionFiles : public testing::Test {
protected:
  /// What opening a file for one row of a tensor of this type says; empty if it can be opened.
  std::string errorOf(PredictionFormat format, ElementType type) {
    std::vector<PredictedTensor> tensors = {{"y", type, {{"batch", 1}, {"output", 2}}}};
    try {
      openPredictionFile(format, folder / "p", tensors, 1);
    } catch (const Error &e) {
      return e.what();
    }
    return "";
  }
  TemporaryFolder folder;
};

TEST_F(PredictionFiles, TypesThatAreNotHeldAreRefusedAtOpening) {
  for (const ElementTypeInfo &info : elementTypes) {
    bool isLow = isFloat(info.type) && info.bytes < 4, isNumpy = *info.numpyName != 0;
    std::string said = fmt::format("predictions of type {} cannot be written as", info.name);
    EXPECT_EQ(errorOf(PredictionFormat::Csv, info.type), isLow ? said + " text; write .safetensors" : "");
    EXPECT_EQ(errorOf(PredictionFormat::Npy, info.type), isNumpy ? "" : said + " .npy; write .safetensors");
    EXPECT_EQ(errorOf(PredictionFormat::Safetensors, info.type), "");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)); // no file was written, so none is left
}

TEST_F(PredictionFiles, NumpyTypesAreThoseOfTheTable) {
  std::string row(16, '\1');
  for (const ElementTypeInfo &info : elementTypes) {
    if (*info.numpyName == 0) continue;
    std::vector<PredictedTensor> tensors = {{"y", info.type, {{"batch", 1}, {"output", 2}}, row.data()}};
    auto file = openPredictionFile(PredictionFormat::Npy, folder / "p.npy", tensors, 1);
    file->write(1);
    file->finish();
    EXPECT_EQ(readFile(folder / "p.npy").substr(10, 18), fmt::format("{{'descr': '{}', '", info.numpyName));
    if (info.type == ElementType::F16) continue; // the reader refuses it
    ArrayFile array = openNpy(folder / "p.npy");
    EXPECT_EQ(array.shape, (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(array.format.bytes, info.bytes) << info.name;
    EXPECT_EQ(array.format.kind == NumberFormat::Float, isFloat(info.type)) << info.name;
  }
}

TEST_F(PredictionFiles, HeadersAreThoseOfWeights) {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const auto *bytes = reinterpret_cast<const char *>(numbers);
  std::vector<PredictedTensor> tensors = {{"label", ElementType::I32, {{"batch", 2}}, bytes},
                                          {"y", ElementType::F32, {{"batch", 2}, {"output", 2}}, bytes + 8}};
  auto file = openPredictionFile(PredictionFormat::Safetensors, folder / "p", tensors, 2);
  file->write(2);
  file->finish();
  EXPECT_EQ(readFile(folder / "p"),
            safetensorsHeader({{"label", ElementType::I32, {2}, "[batch]", 8, nullptr},
                               {"y", ElementType::F32, {2, 2}, "[batch, output]", 16, nullptr}}) +
                std::string(bytes, 24));
  EXPECT_EQ(SafetensorsFile(folder / "p").find("y")->axes, "[batch, output]");
}

} // namespace
