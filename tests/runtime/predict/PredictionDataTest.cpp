// What `predict` reads: which fields, which files, how many rows.

#include "runtime/predict/PredictionData.h"
#include "runtime/base/Error.h"
#include "tests/runtime/TemporaryFolder.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::tests;

namespace {

/// Programs whose entry function `predict` takes two rows at once.
class Predicted : public testing::Test {
protected:
  DataSpec &addSource(const std::string &name, DataFormat format) {
    DataSpec &spec = manifest.data.emplace_back();
    spec.name = name, spec.format = format, spec.batchAxis = "batch";
    return spec;
  }
  void addInput(const std::string &source, const std::string &field, ElementType type, std::vector<AxisSpec> axes) {
    ValueSpec value;
    value.name = source + "." + field, value.role = "data", value.data = source, value.field = field;
    value.type = type, value.axes = std::move(axes);
    value.axes.insert(value.axes.begin(), {"batch", 2});
    value.bytes = bytesOf(type);
    for (const AxisSpec &axis : value.axes) value.bytes *= axis.size;
    manifest.entries["predict"].name = "predict";
    manifest.entries["predict"].inputs.push_back(value);
  }
  /// The number of rows, or the message.
  std::string rowsOf(const std::vector<std::string> &options, const std::vector<CopiedField> &copied = {}) {
    try {
      return fmt::format("{} rows", PredictionData(manifest, options, copied).rows());
    } catch (const Error &e) {
      return e.what();
    }
  }
  TemporaryFolder folder;
  Manifest manifest;
};

TEST_F(Predicted, SequencesHaveTheValuesThatAreRead) {
  addSource("d", DataFormat::Text).seq = 4;
  std::string text = folder.write("text", "abcdefgh");
  addInput("d", "tokens", ElementType::I32, {{"seq", 4}});
  EXPECT_EQ(rowsOf({text}), "2 rows");
  EXPECT_EQ(rowsOf({text}, {{"next"}}), "1 rows");
  manifest.entries.clear();
  addInput("d", "next", ElementType::I32, {{"seq", 4}});
  EXPECT_EQ(rowsOf({text}), "1 rows");
}

} // namespace
