//===- ArrayFile.cpp - npy and IDX files ----------------------------------===//

#include "runtime/data/ArrayFile.h"

#include "runtime/base/Error.h"
#include "runtime/machine/MachineMemory.h"

#include <charconv>
#include <cstring>

namespace tessera::runtime {

int64_t ArrayFile::rowElements() const {
  int64_t elements = 1;
  for (size_t i = 1; i < shape.size(); ++i) elements *= shape[i];
  return elements;
}

/// Bytes of an array's elements.
static int64_t numberBytes(const std::string &path, const ArrayFile &array) {
  int64_t expected = array.format.bytes;
  for (int64_t size : array.shape)
    if (size < 0 || __builtin_mul_overflow(expected, size, &expected))
      fail("{}: the shape [{}] overflows", path, fmt::join(array.shape, ", "));
  return expected;
}

/// Checks that the elements fill the rest of the file exactly.
static void checkSize(const ArrayFile &array) {
  int64_t expected = numberBytes(array.file.path(), array), have = array.file.size() - array.firstByte;
  if (have != expected)
    fail("{}: byte {}: the shape [{}] needs {} bytes of elements, the file has {}", array.file.path(),
         array.firstByte + std::min(have, expected), fmt::join(array.shape, ", "), expected, have);
  if (expected == 0) fail("{}: the array is empty", array.file.path());
}

//===----------------------------------------------------------------------===//
// npy: "\x93NUMPY", version, header length, a Python dict
//===----------------------------------------------------------------------===//

namespace {
/// Parses the subset of Python dicts that occurs in npy headers.
class NpyHeader {
public:
  NpyHeader(const MappedFile &file, size_t begin, size_t size)
      : path(file.path()), text(file.text().substr(begin, size)), base(begin) {}

  void read(ArrayFile &array) {
    bool haveType = false, haveOrder = false, haveShape = false;
    expect('{');
    while (!accept('}')) {
      std::string_view key = readString();
      expect(':');
      if (key == "descr" && !haveType)
        haveType = true, array.format = readFormat();
      else if (key == "fortran_order" && !haveOrder)
        haveOrder = true, readOrder();
      else if (key == "shape" && !haveShape)
        haveShape = true, array.shape = readShape();
      else
        stop("unexpected key");
      if (!accept(',') && peek() != '}') stop("expected ',' or '}'");
    }
    if (peek() != 0) stop("text after the header");
    if (!haveType || !haveOrder || !haveShape) stop("the header lacks descr, fortran_order or shape");
    if (array.shape.empty()) stop("the array is a single number, expected rows");
  }

private:
  [[noreturn]] void stop(const char *what) { fail("{}: byte {}: {}", path, base + at, what); }
  char peek() {
    while (at < text.size() && strchr(" \n\t", text[at]) && text[at]) ++at;
    return at < text.size() ? text[at] : 0;
  }
  bool accept(char c) { return peek() == c && (++at, true); }
  void expect(char c) {
    if (!accept(c)) stop("malformed npy header");
  }
  std::string_view readString() {
    char quote = peek();
    if (quote != '\'' && quote != '"') stop("expected a string");
    size_t begin = ++at;
    while (at < text.size() && text[at] != quote) ++at;
    if (at == text.size()) stop("a string is not closed");
    return text.substr(begin, at++ - begin);
  }
  NumberFormat readFormat() {
    if (peek() == '[')
      stop("the elements have several parts (a structured array); save each part as an array of its own");
    std::string_view name = readString();
    NumberFormat format;
    if (name.size() != 3 || !strchr("<>|=", name[0]))
      stop("unsupported element type; save the array as float32 or int32");
    format.bigEndian = name[0] == '>';
    format.bytes = name[2] - '0';
    char kind = name[1];
    bool integer = strchr("iub", kind) && strchr("1248", name[2]), real = kind == 'f' && strchr("48", name[2]);
    if (!integer && !real) stop("unsupported element type; save the array as float32 or int32");
    format.kind = real ? NumberFormat::Float : kind == 'i' ? NumberFormat::Signed : NumberFormat::Unsigned;
    return format;
  }
  void readOrder() {
    peek();
    if (text.substr(at, 5) == "False")
      at += 5;
    else if (text.substr(at, 4) == "True")
      stop("the array is in Fortran order; save it with numpy.ascontiguousarray");
    else
      stop("expected True or False");
  }
  std::vector<int64_t> readShape() {
    std::vector<int64_t> shape;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t size;
      auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), size);
      if (error != std::errc() || size < 0) stop("expected a size");
      at = end - text.data();
      shape.push_back(size);
      if (shape.size() > 32) stop("more than 32 dimensions");
      if (!accept(',') && peek() != ')') stop("expected ',' or ')'");
    }
    return shape;
  }

  const std::string &path;
  std::string_view text;
  size_t base, at = 0;
};
} // namespace

ArrayFile openNpy(const std::string &path) {
  ArrayFile array{MappedFile(path), {}, {}, 0};
  const unsigned char *bytes = array.file.data();
  size_t size = array.file.size();
  if (size >= 4 && memcmp(bytes, "PK\x03\x04", 4) == 0)
    fail("{}: byte 0: this is an archive, as numpy.savez writes it, and not an npy file; save one of its arrays: "
         "numpy.save(\"x.npy\", numpy.load(\"…\")[\"x\"])",
         path);
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0) fail("{}: byte 0: not an npy file", path);
  int version = bytes[6];
  if (version < 1 || version > 3) fail("{}: byte 6: npy version {} is not supported", path, version);
  size_t prefix = version == 1 ? 10 : 12;
  if (size < prefix) fail("{}: byte {}: the header is truncated", path, size);
  size_t length = bytes[8] | bytes[9] << 8;
  if (version > 1) length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > size - prefix)
    fail("{}: byte 8: the header has {} bytes, the file has {} left", path, length, size - prefix);
  NpyHeader(array.file, prefix, length).read(array);
  array.firstByte = prefix + length;
  checkSize(array);
  return array;
}

//===----------------------------------------------------------------------===//
// IDX: 0, 0, type, number of dimensions, sizes as big-endian 32 bit
//===----------------------------------------------------------------------===//

/// Reads the header.
static void readIdxHeader(const std::string &path, std::string_view header, ArrayFile &array) {
  auto *bytes = reinterpret_cast<const unsigned char *>(header.data());
  size_t size = header.size();
  if (size < 4 || bytes[0] != 0 || bytes[1] != 0) fail("{}: byte 0: not an IDX file", path);
  switch (bytes[2]) {
  case 0x08:
    array.format = {NumberFormat::Unsigned, 1, true};
    break;
  case 0x09:
    array.format = {NumberFormat::Signed, 1, true};
    break;
  case 0x0b:
    array.format = {NumberFormat::Signed, 2, true};
    break;
  case 0x0c:
    array.format = {NumberFormat::Signed, 4, true};
    break;
  case 0x0d:
    array.format = {NumberFormat::Float, 4, true};
    break;
  case 0x0e:
    array.format = {NumberFormat::Float, 8, true};
    break;
  default:
    fail("{}: byte 2: unknown element type 0x{:02x}", path, bytes[2]);
  }
  size_t dimensions = bytes[3];
  if (dimensions == 0) fail("{}: byte 3: the array has no dimensions", path);
  array.firstByte = 4 + 4 * dimensions;
  if (array.firstByte > size) fail("{}: byte {}: the header is truncated", path, size);
  for (size_t i = 0; i < dimensions; ++i) {
    const unsigned char *p = bytes + 4 + 4 * i;
    array.shape.push_back(static_cast<int64_t>(p[0]) << 24 | p[1] << 16 | p[2] << 8 | p[3]);
  }
}

ArrayFile openIdx(const std::string &path) {
  auto inflatedSize = [&](std::string_view header) {
    ArrayFile claimed;
    readIdxHeader(path, header, claimed);
    int64_t total = 0;
    if (__builtin_add_overflow(numberBytes(path, claimed), claimed.firstByte, &total))
      fail("{}: the shape [{}] overflows", path, fmt::join(claimed.shape, ", "));
    if (AvailableMemory available = availableMemory(); total > available.bytes)
      fail(
          "{}: its header claims {}, {} has {} left; unpack it with gunzip: the file is then mapped instead of held in "
          "memory",
          path, formatBytes(total), available.limit, formatBytes(available.bytes));
    return total;
  };
  ArrayFile array;
  array.file = MappedFile(path, inflatedSize);
  readIdxHeader(path, array.file.text(), array);
  checkSize(array);
  return array;
}

} // namespace tessera::runtime
