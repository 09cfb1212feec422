//===- TokenRows.cpp - text and token files -------------------------------===//
//
// A file is a sequence of values of one width: bytes of text, or 16- or 32-bit tokens after an optional header of 256
// × int32 in llm.c's format (magic, version, count).
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Error.h"
#include "runtime/base/MappedFile.h"
#include "runtime/data/ReadMarks.h"
#include "runtime/data/RowReader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace tessera::runtime {

namespace {
/// Consecutive values of one file, and the index of its first window.
struct Segment {
  size_t file = 0;
  int64_t firstByte = 0, count = 0, firstWindow = 0;
};

class TokenRows final : public RowReader {
public:
  TokenRows(const DataSpec &spec, const SplitPaths &paths, Portion portion, std::vector<FieldRequest> requests);

  int64_t rows() const override { return windows; }
  int64_t leftOver() const override { return rest; }
  void read(int64_t row, size_t request, void *dst) const override;
  void checkFilesRead() const override;

private:
  struct Format {
    int64_t headerBytes, width, count;
  };
  Format formatOf(const MappedFile &file) const;
  Format formatOfTokens(const MappedFile &file) const;
  void refuseWideTokens(const MappedFile &file) const;
  void checkRequests() const;
  /// Whether a row is followed by a value: one more than it has is read, or rows are cut as if it were.
  bool needsNext() const;
  template <typename In, typename Out>
  void copyValues(const Segment &s, int64_t first, const FieldRequest &r, Out *dst) const;
  template <typename Out> void copyAs(const Segment &s, int64_t first, const FieldRequest &r, Out *dst) const;

  const DataSpec &spec;
  std::vector<FieldRequest> requests;
  std::vector<MappedFile> files;
  ReadMarks isRead;
  std::vector<int64_t> widths; ///< bytes of a value, by file
  std::vector<Segment> segments;
  int64_t windows = 0, rest = 0;
};
} // namespace

static constexpr int64_t headerBytes = 256 * 4;

/// In 32-bit tokens read as 16-bit ones every other value is 0: wrong, and otherwise unnoticed.
void TokenRows::refuseWideTokens(const MappedFile &file) const {
  size_t looked = std::min<size_t>(file.size() / 2, 4096);
  bool allZero = looked >= 64, evenZero = true;
  for (size_t i = 0; i < looked && allZero; ++i) {
    bool isZero = file.data()[2 * i] == 0 && file.data()[2 * i + 1] == 0;
    if (i % 2 == 1)
      allZero = isZero;
    else
      evenZero &= isZero;
  }
  if (allZero && !evenZero)
    fail("{}: byte 2: every second one of the first {} 16-bit values is 0: the file looks like one of 32-bit tokens; "
         "say width = 32 for data '{}'",
         file.path(), looked, spec.name);
}

TokenRows::Format TokenRows::formatOfTokens(const MappedFile &file) const {
  int64_t size = file.size();
  int32_t header[3] = {};
  memcpy(header, file.data(), std::min<size_t>(sizeof(header), file.size()));
  bool has16 = size >= 4 && header[0] == 20240520, has32 = size >= 4 && header[0] == 20240801;
  if (!has16 && !has32) {
    int64_t width = spec.width / 8;
    if (size % width != 0)
      fail("{}: byte {}: the file has no header and {} bytes, not a multiple of {} (one token)", file.path(), size,
           size, width);
    if (width == 2) refuseWideTokens(file);
    return {0, width, size / width};
  }
  int32_t version = has16 ? 1 : 7;
  int64_t width = has16 ? 2 : 4;
  if (size < headerBytes)
    fail("{}: byte {}: the header is truncated: {} bytes, expected {}", file.path(), size, size, headerBytes);
  if (header[1] != version) fail("{}: byte 4: expected version {}, got {}", file.path(), version, header[1]);
  int64_t count = header[2], expected = headerBytes + count * width;
  if (count <= 0) fail("{}: byte 8: the header says {} tokens", file.path(), count);
  if (size != expected)
    fail("{}: byte {}: the header says {} tokens ({} bytes), the file has {} bytes", file.path(),
         std::min(size, expected), count, expected, size);
  return {headerBytes, width, count};
}

TokenRows::Format TokenRows::formatOf(const MappedFile &file) const {
  if (spec.format == DataFormat::Text) return {0, 1, static_cast<int64_t>(file.size())};
  return formatOfTokens(file);
}

void TokenRows::checkRequests() const {
  for (const FieldRequest &request : requests) {
    if (request.field != tokensField && request.field != nextField)
      fail("data '{}' has no field '{}'; {} has '{}' and '{}'", spec.name, request.field, infoOf(spec.format).name,
           tokensField, nextField);
    if (request.elements != spec.seq)
      fail("field '{}.{}' takes {} values a row, its sequences have {}", spec.name, request.field, request.elements,
           spec.seq);
    if (request.type != ElementType::I32 && request.type != ElementType::I64)
      fail("field '{}.{}' is of type {}, expected i32", spec.name, request.field, elementTypeName(request.type));
  }
}

bool TokenRows::needsNext() const {
  return spec.readsNext || std::any_of(requests.begin(), requests.end(),
                                       [](const FieldRequest &request) { return request.field == nextField; });
}

TokenRows::TokenRows(const DataSpec &spec, const SplitPaths &paths, Portion portion, std::vector<FieldRequest> wanted)
    : spec(spec), requests(std::move(wanted)) {
  checkRequests();
  int64_t total = 0;
  std::vector<Format> formats;
  for (const std::string &path : expandPatterns(paths.at(""))) {
    files.emplace_back(path);
    refuseGzip(files.back(), infoOf(spec.format).name);
    formats.push_back(formatOf(files.back()));
    widths.push_back(formats.back().width);
    total += formats.back().count;
  }
  isRead.resize(files.size());
  auto [begin, end] = portion.rangeOf(total);
  int64_t position = 0, next = needsNext() ? 1 : 0;
  rest = end - begin;
  for (size_t i = 0; i < files.size(); ++i) {
    int64_t first = std::clamp<int64_t>(begin - position, 0, formats[i].count);
    int64_t last = std::clamp<int64_t>(end - position, 0, formats[i].count);
    position += formats[i].count;
    int64_t here = (last - first - next) / spec.seq;
    if (last <= first || here <= 0) continue;
    rest -= here * spec.seq + next;
    segments.push_back({i, formats[i].headerBytes + first * widths[i], last - first, windows});
    windows += here;
  }
  if (windows > 0) return;
  std::string why = begin == end ? portion.whyEmpty(total, "values") : "";
  fail("data '{}': {} values in {} are too few for one sequence of {}{}{}{}", spec.name, end - begin,
       joinedPaths(paths.at("")), spec.seq, next ? " + 1" : "", why.empty() ? "" : ": ", why);
}

template <typename In, typename Out>
void TokenRows::copyValues(const Segment &segment, int64_t first, const FieldRequest &request, Out *dst) const {
  const unsigned char *src = files[segment.file].data() + segment.firstByte + first * sizeof(In);
  uint64_t limit = request.of > 0 ? request.of : uint64_t(std::numeric_limits<Out>::max()) + 1;
  uint64_t largest = 0;
  for (int64_t i = 0; i < request.elements; ++i) {
    In value;
    memcpy(&value, src + i * sizeof(In), sizeof(In));
    largest = std::max<uint64_t>(largest, value);
    dst[i] = static_cast<Out>(value);
  }
  if (largest < limit) return;
  for (int64_t i = 0; i < request.elements; ++i) {
    In value;
    memcpy(&value, src + i * sizeof(In), sizeof(In));
    if (value < limit) continue;
    fail("{}: byte {}: value {} is out of range, the model takes 0 to {}", files[segment.file].path(),
         segment.firstByte + (first + i) * static_cast<int64_t>(sizeof(In)), value, limit - 1);
  }
}

template <typename Out>
void TokenRows::copyAs(const Segment &segment, int64_t first, const FieldRequest &request, Out *dst) const {
  switch (widths[segment.file]) {
  case 1:
    return copyValues<uint8_t>(segment, first, request, dst);
  case 2:
    return copyValues<uint16_t>(segment, first, request, dst);
  default:
    return copyValues<uint32_t>(segment, first, request, dst);
  }
}

void TokenRows::read(int64_t row, size_t index, void *dst) const {
  auto behind = std::upper_bound(segments.begin(), segments.end(), row,
                                 [](int64_t row, const Segment &s) { return row < s.firstWindow; });
  const Segment &segment = *std::prev(behind);
  isRead.set(segment.file);
  const FieldRequest &request = requests[index];
  int64_t first = (row - segment.firstWindow) * spec.seq + (request.field == nextField);
  if (request.type == ElementType::I32)
    copyAs(segment, first, request, static_cast<int32_t *>(dst));
  else
    copyAs(segment, first, request, static_cast<int64_t *>(dst));
}

void TokenRows::checkFilesRead() const {
  for (size_t i = 0; i < files.size(); ++i)
    if (isRead.take(i)) files[i].checkUnchanged();
}

std::unique_ptr<RowReader> openTokenRows(const DataSpec &spec, const SplitPaths &paths, Portion portion,
                                         std::vector<FieldRequest> requests) {
  return std::make_unique<TokenRows>(spec, paths, portion, std::move(requests));
}

} // namespace tessera::runtime
