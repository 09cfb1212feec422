//===- PredictionFile.cpp - files of predictions -------------------------------===//

#include "runtime/predict/PredictionFile.h"

#include "runtime/base/Error.h"
#include "runtime/base/ReplacementFile.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/checkpoint/Safetensors.h"

#include <cstring>
#include <iterator>
#include <optional>

namespace tessera::runtime {

/// Columns of a CSV file at most. Programs that read such files stop much earlier.
static constexpr int64_t maxColumns = 100'000;

PredictionFormat predictionFormat(const std::string &path) {
  if (path.ends_with(".csv")) return PredictionFormat::Csv;
  if (path.ends_with(".npy")) return PredictionFormat::Npy;
  if (path.ends_with(".safetensors")) return PredictionFormat::Safetensors;
  failUsage("--output {}: expected a name that ends in .csv, .npy or .safetensors", path);
}

int64_t PredictedTensor::elements() const {
  int64_t count = 1;
  for (size_t i = 1; i < axes.size(); ++i) count *= axes[i].size;
  return count;
}

//===----------------------------------------------------------------------===//
// CSV
//===----------------------------------------------------------------------===//

/// Whether elements of a type are written as text: all but low-precision floats.
static bool hasText(ElementType type) { return !isFloat(type) || bytesOf(type) >= 4; }

[[noreturn]] static void refuseAsText(ElementType type) {
  fail("predictions of type {} cannot be written as text; write .safetensors", elementTypeName(type));
}

namespace {
/// A header line, then a line for each row.
class CsvPredictions final : public PredictionFile {
public:
  CsvPredictions(const std::string &path, const std::vector<PredictedTensor> &tensors) : tensors(tensors) {
    int64_t columns = 0;
    for (const PredictedTensor &tensor : tensors) columns += tensor.elements();
    if (columns > maxColumns)
      fail("a row has {} values, a line of CSV at most {}; name a file with --output FILE.npy or FILE.safetensors",
           columns, maxColumns);
    for (const PredictedTensor &tensor : tensors)
      if (!hasText(tensor.type)) refuseAsText(tensor.type);
    if (!path.empty()) file.emplace(path);
    writeHeader();
  }

  void write(int64_t count) override;
  void finish() override {
    flush();
    if (file) file->commit();
  }
  bool isClosed() const override { return !file && std::ferror(stdout); }

private:
  void writeHeader();
  void flush() {
    if (file)
      file->append(text);
    else
      std::fwrite(text.data(), 1, text.size(), stdout); // checked at the end of the program
    text.clear();
  }

  const std::vector<PredictedTensor> &tensors;
  std::optional<ReplacementFile> file; ///< none: standard output
  std::string text;
};
} // namespace

/// A cell with this content, in quotes if it needs them.
static std::string csvCell(const std::string &content) {
  if (content.find_first_of(",\"\r\n") == std::string::npos) return content;
  std::string quoted = "\"";
  for (char c : content) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// NAME.2.red: the positions on the axes of a row.
static std::string columnName(const PredictedTensor &tensor, int64_t element) {
  std::string positions;
  for (size_t axis = tensor.axes.size(); axis-- > 1; element /= tensor.axes[axis].size) {
    int64_t position = element % tensor.axes[axis].size;
    bool isNamed = axis < tensor.positionNames.size() && !tensor.positionNames[axis].empty();
    positions =
        fmt::format(".{}{}", isNamed ? tensor.positionNames[axis][position] : std::to_string(position), positions);
  }
  return csvCell(tensor.name + positions);
}

void CsvPredictions::writeHeader() {
  for (const PredictedTensor &tensor : tensors)
    for (int64_t i = 0; i < tensor.elements(); ++i) text += (text.empty() ? "" : ",") + columnName(tensor, i);
  text += '\n';
}

template <typename T> static T elementAt(const char *bytes) {
  T element;
  memcpy(&element, bytes, sizeof(T));
  return element;
}

/// The shortest text that reads as the same value.
static void formatElement(ElementType type, const char *bytes, std::string &text) {
  auto out = std::back_inserter(text);
  switch (type) {
  case ElementType::F32:
    fmt::format_to(out, "{}", static_cast<float>(unsignedNan(elementAt<float>(bytes))));
    return;
  case ElementType::F64:
    fmt::format_to(out, "{}", unsignedNan(elementAt<double>(bytes)));
    return;
  case ElementType::I32:
    fmt::format_to(out, "{}", elementAt<int32_t>(bytes));
    return;
  case ElementType::I64:
    fmt::format_to(out, "{}", elementAt<int64_t>(bytes));
    return;
  case ElementType::I1:
  case ElementType::U8:
    fmt::format_to(out, "{}", elementAt<uint8_t>(bytes));
    return;
  case ElementType::BF16:
  case ElementType::F16:
  case ElementType::E4M3:
  case ElementType::E5M2:
    break;
  }
  refuseAsText(type);
}

void CsvPredictions::write(int64_t count) {
  constexpr size_t bufferBytes = 1 << 20;
  for (int64_t row = 0; row < count; ++row) {
    bool isFirst = true;
    for (const PredictedTensor &tensor : tensors)
      for (int64_t i = 0; i < tensor.elements(); ++i) {
        if (!isFirst) text += ',';
        isFirst = false;
        const char *element = tensor.batch + row * tensor.rowBytes() + i * bytesOf(tensor.type);
        if (tensor.valueNames.empty())
          formatElement(tensor.type, element, text);
        else
          text += csvCell(tensor.valueNames.at(elementAt<int32_t>(element)));
      }
    text += '\n';
    if (text.size() >= bufferBytes) flush();
  }
}

//===----------------------------------------------------------------------===//
// Binary files
//===----------------------------------------------------------------------===//

namespace {
/// A header, then the tensors one after the other, each with its rows outermost.
class BinaryPredictions final : public PredictionFile {
public:
  BinaryPredictions(const std::string &path, const std::vector<PredictedTensor> &tensors, int64_t rows,
                    const std::string &header)
      : tensors(tensors), file(path) {
    file.append(header);
    auto at = static_cast<int64_t>(header.size());
    for (const PredictedTensor &tensor : tensors) {
      ends.push_back(at);
      at += rows * tensor.rowBytes();
    }
  }

  void write(int64_t count) override {
    for (size_t i = 0; i < tensors.size(); ++i) {
      int64_t bytes = count * tensors[i].rowBytes();
      file.writeAt(ends[i], {tensors[i].batch, static_cast<size_t>(bytes)});
      ends[i] += bytes;
    }
  }
  void finish() override { file.commit(); }

private:
  const std::vector<PredictedTensor> &tensors;
  ReplacementFile file;
  std::vector<int64_t> ends; ///< by tensor: where its next rows belong
};
} // namespace

/// The sizes of a tensor's axes in the file.
static std::vector<int64_t> shapeOf(const PredictedTensor &tensor, int64_t rows) {
  std::vector<int64_t> shape{rows};
  for (size_t i = 1; i < tensor.axes.size(); ++i) shape.push_back(tensor.axes[i].size);
  return shape;
}

static std::string npyHeader(const PredictedTensor &tensor, int64_t rows) {
  std::string_view type = infoOf(tensor.type).numpyName;
  if (type.empty())
    fail("predictions of type {} cannot be written as .npy; write .safetensors", elementTypeName(tensor.type));
  std::vector<int64_t> shape = shapeOf(tensor, rows);
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr size_t prefix = 10; // magic, version 1.0, length
  text.resize((prefix + text.size() + 1 + 63) / 64 * 64 - prefix - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 255);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

/// The tensors of a safetensors file, as those of weights are described.
static std::vector<SafeTensorOutput> outputsOf(const std::vector<PredictedTensor> &tensors, int64_t rows) {
  std::vector<SafeTensorOutput> outputs;
  for (const PredictedTensor &tensor : tensors) {
    std::vector<std::string> names;
    for (const AxisSpec &axis : tensor.axes) names.push_back(axis.name);
    outputs.push_back({tensor.name, tensor.type, shapeOf(tensor, rows), axisNotation(names), rows * tensor.rowBytes(),
                       /*append=*/nullptr});
  }
  return outputs;
}

std::unique_ptr<PredictionFile> openPredictionFile(PredictionFormat format, const std::string &path,
                                                   const std::vector<PredictedTensor> &tensors, int64_t rows) {
  switch (format) {
  case PredictionFormat::Csv:
    return std::make_unique<CsvPredictions>(path, tensors);
  case PredictionFormat::Npy:
    if (tensors.size() != 1) {
      std::vector<std::string> names;
      for (const PredictedTensor &tensor : tensors) names.push_back(tensor.name);
      failUsage("--output {}: a .npy file holds one array, there are {}; write .safetensors or .csv", path,
                fmt::join(names, ", "));
    }
    return std::make_unique<BinaryPredictions>(path, tensors, rows, npyHeader(tensors[0], rows));
  case PredictionFormat::Safetensors:
    return std::make_unique<BinaryPredictions>(path, tensors, rows, safetensorsHeader(outputsOf(tensors, rows)));
  }
  fail("unknown format of {}", path);
}

} // namespace tessera::runtime
