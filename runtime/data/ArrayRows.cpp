//===- ArrayRows.cpp - rows of npy and IDX files --------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/UnsignedNan.h"
#include "runtime/data/ArrayFile.h"
#include "runtime/data/RowReader.h"
#include "runtime/data/SharedFiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tessera::runtime {

namespace {
/// One field; its files are concatenated.
struct FieldArrays {
  FieldRequest request;
  std::vector<std::shared_ptr<const ArrayFile>> files;
  std::vector<int64_t> firstRow; ///< by file
  int64_t rows = 0;
};

class ArrayRows final : public RowReader {
public:
  ArrayRows(const DataSpec &spec, const SplitPaths &paths, Portion portion, std::vector<FieldRequest> wanted);

  int64_t rows() const override { return end - begin; }
  void read(int64_t row, size_t request, void *dst) const override;
  void addHeld(HeldMemory &held) const override {
    for (const FieldArrays &field : fields)
      for (const auto &array : field.files) held[array.get()] = array->file.heldBytes();
  }

private:
  std::vector<FieldArrays> fields;
  int64_t begin = 0, end = 0;
};
} // namespace

static FieldArrays openField(const DataSpec &spec, const std::vector<std::string> &patterns, FieldRequest request) {
  static SharedFiles<ArrayFile> opened;
  FieldArrays field{std::move(request), {}, {}, 0};
  for (const std::string &path : expandPatterns(patterns)) {
    bool isNpy = spec.format == DataFormat::Npy;
    field.files.push_back(
        opened.get(infoOf(spec.format).name + fileKey(path), [&] { return isNpy ? openNpy(path) : openIdx(path); }));
    const ArrayFile &array = *field.files.back();
    if (array.rowElements() != field.request.elements)
      fail("{}: a row has {} elements (shape [{}]), field '{}.{}' takes {}", path, array.rowElements(),
           fmt::join(array.shape, ", "), spec.name, field.request.field, field.request.elements);
    field.firstRow.push_back(field.rows);
    field.rows += array.rows();
  }
  return field;
}

ArrayRows::ArrayRows(const DataSpec &spec, const SplitPaths &paths, Portion portion, std::vector<FieldRequest> wanted) {
  for (FieldRequest &request : wanted) {
    auto found = paths.find(request.field);
    if (found == paths.end() || found->second.empty())
      fail("data '{}' names no file for the field '{}'; give one with --data {}=PATH", spec.name, request.field,
           request.field);
    if (request.type != ElementType::F32 && request.type != ElementType::I32)
      fail("field '{}.{}' is of type {}, expected f32 or i32", spec.name, request.field, elementTypeName(request.type));
    fields.push_back(openField(spec, found->second, std::move(request)));
    if (fields.back().rows != fields[0].rows)
      fail("data '{}': field '{}' has {} rows ({}), field '{}' has {} ({})", spec.name, fields[0].request.field,
           fields[0].rows, fields[0].files[0]->file.path(), fields.back().request.field, fields.back().rows,
           fields.back().files[0]->file.path());
  }
  int64_t count = fields.empty() ? 0 : fields[0].rows;
  std::tie(begin, end) = portion.of(count);
  if (begin == end) {
    std::string why = portion.whyEmpty(count, "rows");
    fail("data '{}' has no rows{}{}", spec.name, why.empty() ? "" : ": ", why);
  }
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
  row += begin;
  size_t file = std::upper_bound(field.firstRow.begin(), field.firstRow.end(), row) - field.firstRow.begin() - 1;
  const ArrayFile &array = *field.files[file];
  int64_t local = row - field.firstRow[file];
  size_t firstByte = array.firstByte + local * field.request.elements * array.format.bytes;
  if (field.request.type == ElementType::F32)
    copyFloats(array, firstByte, field.request.elements, local, static_cast<float *>(dst));
  else
    copyIntegers(array, firstByte, field.request, local, static_cast<int32_t *>(dst));
}

std::unique_ptr<RowReader> openArrayRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                         std::vector<FieldRequest> requests) {
  return std::make_unique<ArrayRows>(spec, paths, portion, std::move(requests));
}

} // namespace tessera::runtime
