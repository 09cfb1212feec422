//===- Safetensors.cpp - reads and writes safetensors files ---------------===//
//
// Layout: header length (8 bytes, little endian) | header (JSON: name → {dtype, shape, data_offsets}) | data. The
// tensors cover the data without gaps and overlaps.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"

#include "runtime/checkpoint/AxisOrder.h"

#include <algorithm>
#include <cstring>

namespace tessera::runtime {

static ElementType fileType(const std::string &name, const std::string &where) {
  for (const ElementTypeInfo &info : elementTypes)
    if (name == info.safetensorsName) return info.type;
  fail("{}: the element type {} is not supported", where, printable(name, 40));
}

/// A third of the reference implementation's limit. A parsed header takes about ten times its length of memory; the
/// largest models have headers of a few MB.
static constexpr uint64_t longestHeader = 32 << 20;

static SafeTensor readEntry(const std::string &path, const std::string &name, const nlohmann::json &entry,
                            std::string_view numbers, size_t base) {
  std::string where = fmt::format("{}: tensor '{}'", path, printable(name));
  SafeTensor tensor;
  tensor.name = name;
  tensor.type = fileType(asString(member(entry, "dtype", where), where), where);
  int64_t expected = bytesOf(tensor.type);
  const nlohmann::json &shape = member(entry, "shape", where);
  if (!shape.is_array() || shape.size() > 32) fail("{}: expected a shape of at most 32 sizes", where);
  for (const nlohmann::json &size : shape) {
    tensor.shape.push_back(asInteger(size, where));
    if (tensor.shape.back() < 0 || __builtin_mul_overflow(expected, tensor.shape.back(), &expected))
      fail("{}: the shape overflows", where);
  }
  const nlohmann::json &offsets = member(entry, "data_offsets", where);
  if (!offsets.is_array() || offsets.size() != 2) fail("{}: expected data_offsets [begin, end]", where);
  int64_t begin = asInteger(offsets[0], where), end = asInteger(offsets[1], where);
  if (begin < 0 || begin > end || end > static_cast<int64_t>(numbers.size()))
    fail("{}: the offsets [{}, {}] are outside of the file's {} bytes of elements (from byte {})", where, begin, end,
         numbers.size(), base);
  if (end - begin != expected)
    fail("{}: {} bytes at byte {}, its shape needs {}", where, end - begin, base + begin, expected);
  for (const auto &[key, value] : entry.items())
    if (key != "dtype" && key != "shape" && key != "data_offsets")
      fail("{}: unknown key '{}'", where, printable(key, 40));
  tensor.data = numbers.data() + begin;
  tensor.bytes = expected;
  return tensor;
}

static void checkTiling(const std::string &path, std::vector<SafeTensor> tensors, std::string_view numbers,
                        size_t base) {
  std::sort(tensors.begin(), tensors.end(), [](const SafeTensor &a, const SafeTensor &b) {
    return std::pair(a.data, a.bytes) < std::pair(b.data, b.bytes);
  });
  const char *at = numbers.data(), *end = at + numbers.size();
  for (const SafeTensor &tensor : tensors) {
    if (tensor.data != at)
      fail("{}: byte {}: tensor '{}' {}", path, base + (tensor.data - numbers.data()), printable(tensor.name),
           tensor.data < at ? "overlaps the one before it" : "leaves a gap before it");
    at += tensor.bytes;
  }
  if (at != end) fail("{}: byte {}: {} bytes that belong to no tensor", path, base + (at - numbers.data()), end - at);
}

SafetensorsFile::SafetensorsFile(MappedFile mapped) : file(std::move(mapped)) {
  const std::string &path = file.path();
  if (file.size() < 8)
    fail("{}: byte {}: the file is truncated, expected a header length of 8 bytes", path, file.size());
  uint64_t length;
  memcpy(&length, file.data(), 8);
  if (length <= file.size() - 8 && length > longestHeader)
    fail("{}: byte 0: the header has {} bytes, at most {} are read; are these weights?", path, length, longestHeader);
  if (length > file.size() - 8)
    fail("{}: byte 0: the header has {} bytes, the file has {} after its length", path, length, file.size() - 8);
  std::string_view header = file.text().substr(8, length), numbers = file.text().substr(8 + length);
  if (!header.starts_with('{')) fail("{}: byte 8: expected '{{'", path);
  nlohmann::json json = parseSortedJson(header, path, 8, /*maxDepth=*/4);
  for (const auto &[name, entry] : json.items()) {
    if (name != "__metadata__") {
      list.push_back(readEntry(path, name, entry, numbers, 8 + length));
      continue;
    }
    if (!entry.is_object()) fail("{}: the metadata is not an object", path);
    for (const auto &[key, value] : entry.items())
      if (!value.is_string()) fail("{}: the metadata '{}' is not a string", path, printable(key, 40));
  }
  checkTiling(path, list, numbers, 8 + length);
}

const SafeTensor *SafetensorsFile::find(const std::string &name) const {
  auto found = std::find_if(list.begin(), list.end(), [&](const SafeTensor &t) { return t.name == name; });
  return found == list.end() ? nullptr : &*found;
}

/// Bytes of a tensor that are copied to canonical order at a time.
static constexpr int64_t pieceBytes = 1 << 20;

void writeSafetensors(DurableFile &file, const std::vector<const StateEntry *> &entries,
                      const std::function<const char *(const StateEntry &)> &address) {
  Json header = Json::object();
  int64_t offset = 0;
  for (const StateEntry *entry : entries) {
    Json shape = Json::array();
    for (const AxisSpec &axis : entry->canonicalAxes()) shape.push_back(axis.size);
    header[entry->path] = {{"dtype", infoOf(entry->type).safetensorsName},
                           {"shape", shape},
                           {"data_offsets", {offset, offset + entry->bytes}}};
    offset += entry->bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' '); // so that the numbers are aligned
  uint64_t length = text.size();
  file.append(&length, 8);
  file.append(text.data(), text.size());
  // In blocks: saving a large tensor takes little memory.
  std::vector<char> piece(pieceBytes);
  for (const StateEntry *entry : entries) {
    if (isCanonical(*entry)) {
      file.append(address(*entry), entry->bytes);
      continue;
    }
    int64_t size = bytesOf(entry->type), elements = entry->bytes / size, step = pieceBytes / size;
    for (int64_t first = 0; first < elements; first += step) {
      int64_t count = std::min(step, elements - first);
      toCanonical(*entry, address(*entry), first, count, piece.data());
      file.append(piece.data(), count * size);
    }
  }
  file.commit();
}

/// Whether a tensor of this type may be converted on loading.
static bool isConvertible(ElementType type) { return type == ElementType::F32 || type == ElementType::BF16; }

void checkTensor(const SafetensorsFile &file, const SafeTensor &tensor, const StateEntry &entry, bool mayConvert) {
  std::vector<int64_t> expected;
  for (const AxisSpec &axis : entry.canonicalAxes()) expected.push_back(axis.size);
  if (tensor.shape != expected)
    fail("{}: '{}' has the shape [{}], the program was compiled for {}; use weights of that shape or compile again",
         file.path(), tensor.name, fmt::join(tensor.shape, ", "), formatAxes(entry.canonicalAxes()));
  if (tensor.type != entry.type && !(mayConvert && isConvertible(tensor.type) && isConvertible(entry.type)))
    fail("{}: '{}' is of type {}, the program expects {}; convert the file first", file.path(), tensor.name,
         infoOf(tensor.type).safetensorsName, elementTypeName(entry.type));
}

void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor) {
  if (!isFloat(tensor.type) || isFp8(tensor.type)) return;
  const ElementTypeInfo &info = infoOf(tensor.type);
  uint64_t exponent = ((uint64_t(1) << info.exponentBits) - 1) << info.mantissaBits;
  int64_t size = bytesOf(tensor.type);
  for (int64_t i = 0; i < tensor.bytes / size; ++i) {
    uint64_t bits = 0;
    memcpy(&bits, tensor.data + i * size, size);
    if ((bits & exponent) != exponent) continue;
    bool isNan = (bits & ((exponent & -exponent) - 1)) != 0;
    std::vector<int64_t> place(tensor.shape.size());
    for (int64_t axis = place.size() - 1, rest = i; axis >= 0; rest /= tensor.shape[axis--])
      place[axis] = rest % tensor.shape[axis];
    fail("{}: '{}' at [{}] (byte {}) is {}, which makes all results non-finite; use earlier weights", file.path(),
         printable(tensor.name), fmt::join(place, ", "), tensor.data - file.bytes().data() + i * size,
         isNan ? "a NaN" : "infinite");
  }
}

/// bf16 is the upper half of f32; rounds to nearest, ties to even.
static uint16_t toBf16(float number) {
  uint32_t bits;
  memcpy(&bits, &number, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::vector<char> convertNumbers(const char *data, int64_t count, ElementType from, ElementType to) {
  std::vector<char> result(count * bytesOf(to));
  for (int64_t i = 0; i < count; ++i) {
    if (from == ElementType::F32 && to == ElementType::BF16) {
      float number;
      memcpy(&number, data + 4 * i, 4);
      uint16_t low = toBf16(number);
      memcpy(result.data() + 2 * i, &low, 2);
    } else { // bf16 to f32
      memset(result.data() + 4 * i, 0, 2);
      memcpy(result.data() + 4 * i + 2, data + 2 * i, 2);
    }
  }
  return result;
}

} // namespace tessera::runtime
