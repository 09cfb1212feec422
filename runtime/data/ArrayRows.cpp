//===- ArrayRows.cpp - rows of npy and IDX files --------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/data/ArrayFile.h"
#include "runtime/data/ReadMarks.h"
#include "runtime/data/RowChoice.h"
#include "runtime/data/SharedFiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

namespace tessera::runtime {

namespace {
/// One field; its files are concatenated.
struct FieldArrays {
  FieldRequest request;
  std::vector<std::shared_ptr<const ArrayFile>> files;
  ReadMarks isRead;
  std::vector<int64_t> firstRow; ///< by file
  int64_t rows = 0;
};

class ArrayRows final : public RowReader {
public:
  ArrayRows(const DataSpec &spec, const SplitPaths &paths, const Portion &portion, std::vector<FieldRequest> wanted);

  int64_t rows() const override { return choice.rows(); }
  int64_t rowsOfFiles() const override { return choice.rowsOfFiles(); }
  void read(int64_t row, size_t request, void *dst) const override;
  void checkFilesRead() const override;
  void addNotes(std::vector<std::string> &lines) const override {
    lines.insert(lines.end(), notes.begin(), notes.end());
  }
  void addHeld(HeldMemory &held) const override {
    for (const FieldArrays &field : fields)
      for (const auto &array : field.files) held[array.get()] = array->file.heldBytes();
  }

private:
  void openField(const DataSpec &spec, const std::vector<std::string> &patterns, FieldRequest request);
  void checkShape(const DataSpec &spec, const FieldRequest &request, const ArrayFile &array);

  std::vector<FieldArrays> fields;
  RowChoice choice;
  std::vector<std::string> notes;
};
} // namespace

/// "(rows, 2, 3)".
static std::string describeShape(const ArrayFile &array) {
  std::string text = "(rows";
  for (size_t i = 1; i < array.shape.size(); ++i) text += fmt::format(", {}", array.shape[i]);
  return text + ")";
}

/// "float[b, a]": the field, with its axes in an order in which they have the sizes of the file; empty if there is
/// none, or more than one.
static std::string orderOfFile(const FieldSpec &field, const FieldRequest &request, const ArrayFile &array) {
  std::vector<std::string> names;
  for (size_t i = 1; i < array.shape.size(); ++i) {
    auto hasSize = [&](const AxisSpec &axis) { return axis.size == array.shape[i]; };
    if (std::count_if(field.axes.begin(), field.axes.end(), hasSize) != 1) return "";
    names.push_back(std::find_if(field.axes.begin(), field.axes.end(), hasSize)->name);
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != field.axes.size()) return "";
  return fmt::format("{}[{}]", request.type == ElementType::F32 ? "float" : "int", fmt::join(names, ", "));
}

/// How the dimensions of a file correspond to the axes of a field.
enum class Correspondence { Exact, Merged, None };

/// Cuts both lists into groups of equal product. A group of one dimension and several axes is merged in the file. With
/// several of both, nothing says how they correspond.
static Correspondence correspondenceOf(const std::vector<int64_t> &file, const std::vector<AxisSpec> &axes) {
  Correspondence result = Correspondence::Exact;
  size_t i = 0, j = 0;
  while (i < file.size() && j < axes.size()) {
    size_t firstI = i, firstJ = j;
    int64_t inFile = file[i++], inField = axes[j++].size;
    while (inFile != inField) {
      if (inFile < inField ? i == file.size() : j == axes.size()) return Correspondence::None;
      if (inFile < inField)
        inFile *= file[i++];
      else
        inField *= axes[j++].size;
    }
    if (i - firstI > 1 && j - firstJ > 1) return Correspondence::None;
    if (j - firstJ > 1) result = Correspondence::Merged;
  }
  return result;
}

/// Compares the shape of a file, whose rows have as many elements as the field, with the axes of the field.
void ArrayRows::checkShape(const DataSpec &spec, const FieldRequest &request, const ArrayFile &array) {
  const FieldSpec *field = spec.fieldNamed(request.field);
  if (!field || field->axes.empty()) return;
  std::string place = array.file.path(), shape = describeShape(array), axes = formatAxes(field->axes);
  bool hasRank = array.shape.size() == field->axes.size() + 1, isEqual = hasRank;
  for (size_t i = 0; hasRank && i < field->axes.size(); ++i) isEqual &= array.shape[i + 1] == field->axes[i].size;
  if (isEqual) return;
  // Axes of one element have no order.
  std::vector<int64_t> sizes;
  std::copy_if(array.shape.begin() + 1, array.shape.end(), std::back_inserter(sizes), [](int64_t n) { return n != 1; });
  std::vector<AxisSpec> longer;
  std::copy_if(field->axes.begin(), field->axes.end(), std::back_inserter(longer),
               [](auto &axis) { return axis.size != 1; });
  Correspondence found = hasRank ? Correspondence::None : correspondenceOf(sizes, longer);
  if (found == Correspondence::None) {
    std::string order = orderOfFile(*field, request, array);
    fail("{}: the shape of the file is {}, the axes of field '{}.{}' are {}: {}", place, shape, spec.name,
         request.field, axes,
         order.empty() ? "declare the axes of the file, in its order, or save rows of these sizes"
                       : fmt::format("declare it as `{}`, in the order of the file", order));
  }
  if (found == Correspondence::Merged)
    notes.push_back(fmt::format("{}: the shape of the file is {}; its rows are read as {}, the last axis varying "
                                "fastest, which the file cannot confirm; save it with the axes of '{}.{}' to be sure",
                                printable(place), shape, axes, spec.name, request.field));
}

/// Appended to the message about rows of another size than that of the field, which may be classes.
static const char *hintAtOneHot(const FieldArrays &field, const ArrayFile &array) {
  bool isOneClass = field.request.type == ElementType::I32 && field.request.elements == 1;
  return isOneClass && array.shape.size() == 2 ? ", one class number; save one-hot labels as labels.argmax(axis=1)"
                                               : "";
}

void ArrayRows::openField(const DataSpec &spec, const std::vector<std::string> &patterns, FieldRequest request) {
  static SharedFiles<ArrayFile> opened;
  FieldArrays field{std::move(request), {}, {}, {}, 0};
  for (const std::string &path : expandPatterns(patterns)) {
    bool isNpy = spec.format == DataFormat::Npy;
    field.files.push_back(
        opened.get(infoOf(spec.format).name + fileKey(path), [&] { return isNpy ? openNpy(path) : openIdx(path); }));
    const ArrayFile &array = *field.files.back();
    if (array.rowElements() != field.request.elements)
      fail("{}: a row has {} elements (shape {}), field '{}.{}' takes {}{}", path, array.rowElements(),
           describeShape(array), spec.name, field.request.field, field.request.elements, hintAtOneHot(field, array));
    checkShape(spec, field.request, array);
    field.firstRow.push_back(field.rows);
    field.rows += array.rows();
  }
  field.isRead.resize(field.files.size());
  fields.push_back(std::move(field));
}

ArrayRows::ArrayRows(const DataSpec &spec, const SplitPaths &paths, const Portion &portion,
                     std::vector<FieldRequest> wanted) {
  for (FieldRequest &request : wanted) {
    auto found = paths.find(request.field);
    if (found == paths.end() || found->second.empty())
      fail("data '{}' names no file for the field '{}'; give one with --data {}=PATH", spec.name, request.field,
           request.field);
    if (request.type != ElementType::F32 && request.type != ElementType::I32)
      fail("field '{}.{}' is of type {}, expected f32 or i32", spec.name, request.field, elementTypeName(request.type));
    openField(spec, found->second, std::move(request));
    if (fields.back().rows != fields[0].rows)
      fail("data '{}': field '{}' has {} rows ({}), field '{}' has {} ({})", spec.name, fields[0].request.field,
           fields[0].rows, fields[0].files[0]->file.path(), fields.back().request.field, fields.back().rows,
           fields.back().files[0]->file.path());
  }
  int64_t count = fields.empty() ? 0 : fields[0].rows;
  choice = RowChoice(portion, count);
  if (choice.rows() > 0) return;
  std::string why = portion.whyEmpty(count, "rows");
  fail("data '{}' has no rows{}{}", spec.name, why.empty() ? "" : ": ", why);
}

/// An element of any format.
static double loadNumber(const unsigned char *src, NumberFormat format) {
  uint64_t bits = 0;
  for (int i = 0; i < format.bytes; ++i)
    bits |= static_cast<uint64_t>(src[format.bigEndian ? format.bytes - 1 - i : i]) << 8 * i;
  if (format.kind == NumberFormat::Float)
    return format.bytes == 4 ? std::bit_cast<float>(static_cast<uint32_t>(bits)) : std::bit_cast<double>(bits);
  if (format.kind == NumberFormat::Unsigned) return static_cast<double>(bits);
  int unused = 64 - 8 * format.bytes;
  return static_cast<double>(static_cast<int64_t>(bits << unused) >> unused);
}

/// NaN and infinity are rejected: one of them makes all later losses meaningless.
static void copyFloats(const ArrayFile &array, size_t firstByte, int64_t count, int64_t row, float *dst) {
  const unsigned char *src = array.file.data() + firstByte;
  NumberFormat format = array.format;
  if (format.kind == NumberFormat::Float && format.bytes == 4 && !format.bigEndian)
    memcpy(dst, src, count * 4);
  else if (format.kind == NumberFormat::Unsigned && format.bytes == 1)
    std::copy(src, src + count, dst);
  else
    for (int64_t i = 0; i < count; ++i) dst[i] = static_cast<float>(loadNumber(src + i * format.bytes, format));
  if (format.kind != NumberFormat::Float) return;
  for (int64_t i = 0; i < count; ++i)
    if (!std::isfinite(dst[i]))
      fail("{}: byte {} (row {}): value {} is not a finite f32 number", array.file.path(), firstByte + i * format.bytes,
           row, unsignedNan(loadNumber(src + i * format.bytes, format)));
}

static void copyIntegers(const ArrayFile &array, size_t firstByte, const FieldRequest &request, int64_t row,
                         int32_t *dst) {
  const unsigned char *src = array.file.data() + firstByte;
  NumberFormat format = array.format;
  double limit = request.of > 0 ? static_cast<double>(request.of) : 2147483648.0;
  double lowest = request.of > 0 ? 0 : -2147483648.0;
  for (int64_t i = 0; i < request.elements; ++i) {
    double value = loadNumber(src + i * format.bytes, format);
    if (value != std::floor(value) || !(value >= lowest && value < limit))
      fail("{}: byte {} (row {}): value {} is out of range, the model takes whole numbers from {} to {}",
           array.file.path(), firstByte + i * format.bytes, row, unsignedNan(value), static_cast<int64_t>(lowest),
           static_cast<int64_t>(limit) - 1);
    dst[i] = static_cast<int32_t>(value);
  }
}

void ArrayRows::read(int64_t row, size_t index, void *dst) const {
  const FieldArrays &field = fields[index];
  row = choice(row);
  size_t file = std::upper_bound(field.firstRow.begin(), field.firstRow.end(), row) - field.firstRow.begin() - 1;
  field.isRead.set(file);
  const ArrayFile &array = *field.files[file];
  int64_t local = row - field.firstRow[file];
  size_t firstByte = array.firstByte + local * field.request.elements * array.format.bytes;
  if (field.request.type == ElementType::F32)
    copyFloats(array, firstByte, field.request.elements, local, static_cast<float *>(dst));
  else
    copyIntegers(array, firstByte, field.request, local, static_cast<int32_t *>(dst));
}

void ArrayRows::checkFilesRead() const {
  for (const FieldArrays &field : fields)
    for (size_t i = 0; i < field.files.size(); ++i)
      if (const MappedFile &file = field.files[i]->file; field.isRead.take(i) && file.heldBytes() == 0)
        file.checkUnchanged();
}

std::unique_ptr<RowReader> openArrayRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                         std::vector<FieldRequest> requests) {
  return std::make_unique<ArrayRows>(spec, paths, portion, std::move(requests));
}

} // namespace tessera::runtime
