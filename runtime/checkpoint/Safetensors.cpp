//===- Safetensors.cpp - reads and writes safetensors files ---------------===//
//
// Layout: header length (8 bytes, little endian) | header (JSON: name → {dtype, shape, data_offsets}) | data. The
// tensors cover the data without gaps and overlaps. Metadata are strings: "axes.NAME" are the axes of a tensor, and
// "format" is what Hugging Face's libraries ask for before they read a file.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/Safetensors.h"

#include "runtime/base/LowPrecision.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>

namespace tessera::runtime {

/// Types of the format that programs do not have: a file may contain them, where they are not used.
static constexpr std::pair<const char *, int64_t> otherTypes[] = {{"I8", 1},  {"I16", 2}, {"U16", 2},
                                                                  {"U32", 4}, {"U64", 8}, {"C64", 8}};

/// Sets the type of a tensor; returns the bytes of an element.
static int64_t readType(SafeTensor &tensor, const std::string &where) {
  for (const ElementTypeInfo &info : elementTypes)
    if (tensor.typeName == info.safetensorsName) {
      tensor.type = info.type;
      return info.bytes;
    }
  for (const auto &[name, bytes] : otherTypes)
    if (tensor.typeName == name) return bytes;
  fail("{}: the element type {} is not supported", where, printable(tensor.typeName, 40));
}

static constexpr const char *axesKey = "axes.";

/// A third of the reference implementation's limit. A parsed header takes about ten times its length of memory; the
/// largest models have headers of a few MB.
static constexpr uint64_t longestHeader = 32 << 20;

static SafeTensor readEntry(const std::string &path, const std::string &name, const nlohmann::json &entry,
                            std::string_view numbers, size_t base) {
  std::string where = fmt::format("{}: tensor '{}'", path, name);
  SafeTensor tensor;
  tensor.name = name;
  tensor.typeName = asString(member(entry, "dtype", where), where);
  int64_t expected = readType(tensor, where);
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
      fail("{}: byte {}: tensor '{}' {}", path, base + (tensor.data - numbers.data()), tensor.name,
           tensor.data < at ? "overlaps the one before it" : "leaves a gap before it");
    at += tensor.bytes;
  }
  if (at != end) fail("{}: byte {}: {} bytes that belong to no tensor", path, base + (at - numbers.data()), end - at);
}

static constexpr const char *metadataKey = "__metadata__";

static void readMetadata(const std::string &path, const nlohmann::json &metadata, std::vector<SafeTensor> &tensors) {
  if (!metadata.is_object()) fail("{}: the metadata is not an object", path);
  for (const auto &[key, value] : metadata.items())
    if (!value.is_string()) fail("{}: the metadata '{}' is not a string", path, printable(key, 40));
  for (SafeTensor &tensor : tensors)
    if (auto axes = metadata.find(axesKey + tensor.name); axes != metadata.end())
      tensor.axes = axes->get<std::string>();
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
  for (const auto &[name, entry] : json.items())
    if (name != metadataKey) list.push_back(readEntry(path, name, entry, numbers, 8 + length));
  checkTiling(path, list, numbers, 8 + length);
  if (auto metadata = json.find(metadataKey); metadata != json.end()) readMetadata(path, *metadata, list);
}

const SafeTensor *SafetensorsFile::find(const std::string &name) const {
  auto found = std::find_if(list.begin(), list.end(), [&](const SafeTensor &t) { return t.name == name; });
  return found == list.end() ? nullptr : &*found;
}

std::string axisNotation(const std::vector<std::string> &names) { return fmt::format("[{}]", fmt::join(names, ", ")); }

std::string safetensorsHeader(const std::vector<SafeTensorOutput> &tensors) {
  nlohmann::json metadata = {{"format", "pt"}}; // row-major, as PyTorch's: transformers reads no other word
  for (const SafeTensorOutput &tensor : tensors) metadata[axesKey + tensor.name] = tensor.axes;
  std::string text = fmt::format("{{\"{}\":{}", metadataKey, metadata.dump());
  int64_t offset = 0;
  for (const SafeTensorOutput &tensor : tensors) {
    Json entry = {{"dtype", infoOf(tensor.type).safetensorsName},
                  {"shape", tensor.shape},
                  {"data_offsets", {offset, offset + tensor.bytes}}};
    text += fmt::format(",{}:{}", Json(tensor.name).dump(), entry.dump());
    offset += tensor.bytes;
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' '); // so that the numbers are aligned
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text;
}

void writeSafetensors(DurableFile &file, const std::vector<SafeTensorOutput> &tensors) {
  std::string header = safetensorsHeader(tensors);
  file.append(header.data(), header.size());
  for (const SafeTensorOutput &tensor : tensors) tensor.append(file);
  file.commit();
}

SafeTensorOutput outputOf(const StateEntry &entry) {
  SafeTensorOutput output{
      entry.path, entry.type, {}, axisNotation(entry.canonical), entry.wholeElements() * bytesOf(entry.type), nullptr};
  for (const AxisSpec &axis : entry.wholeAxes()) output.shape.push_back(axis.size);
  return output;
}

static void appendPart(DurableFile &file, const StateEntry &entry, const char *memory, const MeshPlace &place) {
  StatePart part(entry, place);
  int64_t size = bytesOf(entry.type), step = part.pieceElements();
  std::vector<char> buffer;
  for (int64_t first = 0; first < part.elements(); first += step) {
    int64_t count = std::min(step, part.elements() - first);
    file.append(part.dense(memory, first, count, buffer), count * size);
  }
}

void writeSafetensors(DurableFile &file, const std::vector<const StateEntry *> &entries,
                      const std::function<const char *(const StateEntry &)> &address, const MeshPlace &place) {
  std::vector<SafeTensorOutput> tensors;
  for (const StateEntry *entry : entries) {
    tensors.push_back(outputOf(*entry));
    tensors.back().append = [=, &address, &place](DurableFile &file) {
      appendPart(file, *entry, address(*entry), place);
    };
  }
  writeSafetensors(file, tensors);
}

bool isConvertible(ElementType from, ElementType to) {
  bool isWide = to == ElementType::F32, isBf16 = to == ElementType::BF16;
  return (isWide && (from == ElementType::BF16 || from == ElementType::F16)) || (isBf16 && from == ElementType::F32);
}

/// The names of axes in a notation, sorted.
static std::vector<std::string> namesIn(const std::string &axes) {
  std::vector<std::string> names(1);
  for (char c : axes) {
    bool isInName = isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (isInName)
      names.back() += c;
    else if (!names.back().empty())
      names.emplace_back();
  }
  if (names.back().empty()) names.pop_back();
  std::sort(names.begin(), names.end());
  return names;
}

/// Two axes of one size in another order: the shape does not show it. Other names are those of a renamed dim.
static void checkAxisOrder(const SafetensorsFile &file, const SafeTensor &tensor, const std::string &axes) {
  if (tensor.axes.empty() || tensor.axes == axes || namesIn(tensor.axes) != namesIn(axes)) return;
  fail("{}: '{}' has the axes {} in the file, in this order, and {} here; declare them in the order of the file, or "
       "read the file with a --map",
       file.path(), tensor.name, tensor.axes, axes);
}

static void checkShape(const SafetensorsFile &file, const SafeTensor &tensor, const std::vector<int64_t> &shape,
                       const std::string &axes, const std::string &expected) {
  if (tensor.shape != shape)
    fail("{}: '{}' has the shape [{}], the program was compiled for {}; use weights of that shape or compile again",
         file.path(), tensor.name, fmt::join(tensor.shape, ", "), expected);
  checkAxisOrder(file, tensor, axes);
}

void checkTensor(const SafetensorsFile &file, const SafeTensor &tensor, const StateEntry &entry) {
  std::vector<int64_t> shape;
  for (const AxisSpec &axis : entry.wholeAxes()) shape.push_back(axis.size);
  checkShape(file, tensor, shape, axisNotation(entry.canonical), formatAxes(entry.wholeAxes()));
  if (tensor.type != entry.type)
    fail("{}: '{}' is of type {}, the program expects {}; convert the file first", file.path(), tensor.name,
         tensor.typeName, elementTypeName(entry.type));
}

void checkConvertible(const SafetensorsFile &file, const SafeTensor &tensor, const std::vector<int64_t> &shape,
                      const std::string &axes, ElementType type, const std::string &expected) {
  checkShape(file, tensor, shape, axes, expected);
  bool isReadable = tensor.type && (*tensor.type == type || isConvertible(*tensor.type, type));
  if (!isReadable)
    fail("{}: '{}' is of type {}, the program expects {}; convert the file first", file.path(), tensor.name,
         tensor.typeName, elementTypeName(type));
}

/// Whether a finite f32 is rounded to an infinity.
static bool becomesInfinite(uint64_t bits) {
  return std::isinf(fromBf16(toBf16(std::bit_cast<float>(static_cast<uint32_t>(bits)))));
}

namespace {
/// Looks for elements of a tensor that are not finite, as they are or converted to `type`.
class FiniteCheck {
public:
  FiniteCheck(const SafetensorsFile &file, const SafeTensor &tensor, ElementType type)
      : file(file), tensor(tensor), info(infoOf(*tensor.type)),
        exponent(((uint64_t(1) << info.exponentBits) - 1) << info.mantissaBits),
        isRounded(*tensor.type == ElementType::F32 && type == ElementType::BF16) {} // other conversions are exact

  /// Whether elements of that type may be non-finite.
  static bool applies(const SafeTensor &tensor) { return tensor.type && isFloat(*tensor.type) && !isFp8(*tensor.type); }

  /// Throws an Error that names the first one of [first, first + count).
  void check(int64_t first, int64_t count) const {
    for (int64_t i = first; i < first + count; ++i) {
      uint64_t bits = 0;
      memcpy(&bits, tensor.data + i * info.bytes, info.bytes);
      bool isFinite = (bits & exponent) != exponent;
      if (!isFinite || (isRounded && becomesInfinite(bits))) refuse(i, bits, isFinite);
    }
  }

private:
  [[noreturn]] void refuse(int64_t element, uint64_t bits, bool isFinite) const {
    bool isNan = (bits & ((exponent & -exponent) - 1)) != 0;
    std::vector<int64_t> place(tensor.shape.size());
    for (int64_t axis = place.size() - 1, rest = element; axis >= 0; rest /= tensor.shape[axis--])
      place[axis] = rest % tensor.shape[axis];
    fail("{}: '{}' at [{}] (byte {}) is {}, which makes all results non-finite; use earlier weights", file.path(),
         tensor.name, fmt::join(place, ", "), tensor.data - file.bytes().data() + element * info.bytes,
         isFinite ? "infinite in bf16"
         : isNan  ? "a NaN"
                  : "infinite");
  }

  const SafetensorsFile &file;
  const SafeTensor &tensor;
  const ElementTypeInfo &info;
  uint64_t exponent;
  bool isRounded;
};
} // namespace

void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor, ElementType type) {
  if (FiniteCheck::applies(tensor)) FiniteCheck(file, tensor, type).check(0, tensor.bytes / bytesOf(*tensor.type));
}

void checkFinite(const SafetensorsFile &file, const SafeTensor &tensor, ElementType type, int64_t offset,
                 const std::vector<StridedAxis> &axes) {
  if (!FiniteCheck::applies(tensor)) return;
  FiniteCheck check(file, tensor, type);
  forEachSourceRun(axes, [&](int64_t first, int64_t count) { check.check(offset + first, count); });
}

template <typename From, typename To, typename Convert>
static void convertEach(const char *data, int64_t count, char *result, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    From number;
    memcpy(&number, data + i * sizeof(From), sizeof(From));
    To converted = convert(number);
    memcpy(result + i * sizeof(To), &converted, sizeof(To));
  }
}

std::vector<char> convertNumbers(const char *data, int64_t count, ElementType from, ElementType to) {
  std::vector<char> result(count * bytesOf(to));
  if (to == ElementType::BF16)
    convertEach<float, uint16_t>(data, count, result.data(), toBf16);
  else if (from == ElementType::F16)
    convertEach<uint16_t, float>(data, count, result.data(), fromF16);
  else
    convertEach<uint16_t, float>(data, count, result.data(), fromBf16);
  return result;
}

} // namespace tessera::runtime
