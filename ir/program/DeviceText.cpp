//===- DeviceText.cpp - descriptions of devices as text -------------------===//
//
//  1. Check the bytes: size, UTF-8, control characters, the newline at the end.
//  2. Split lines into keys and values, each key once.
//  3. Find name, kind and base. The base is read first; without one, the fields begin as those of the kind.
//  4. Enter the other fields, and check that none is missing.
//
//===----------------------------------------------------------------------===//

#include "ir/program/DeviceText.h"
#include "ir/program/DeviceFields.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Path.h"

using namespace tessera;
using llvm::ArrayRef;
using llvm::StringRef;

/// A chain of more bases is refused: links between folders can make one without an end.
static constexpr size_t mostBases = 16;

/// The keys that are no fields.
static constexpr llvm::StringLiteral nameKey = "name", kindKey = "kind", baseKey = "base";

bool tessera::isDevicePath(StringRef name) { return name.contains('/') || name.ends_with(".device"); }

namespace {

/// A line `key = value`, both inside of the text.
struct KeyValue {
  StringRef key, value;
};

class DeviceParser {
public:
  DeviceParser(StringRef text, StringRef path, const ReadDeviceFile &readFile, std::vector<std::string> chain)
      : text(text), path(path), readFile(readFile), chain(std::move(chain)) {}

  std::optional<Target> parse();
  std::string problem; ///< why there is no description

private:
  bool checkBytes();
  bool scanLine(StringRef line);
  bool scan();
  const KeyValue *find(StringRef key) const;
  std::optional<Target> begin();
  std::optional<Target> parseBase(const KeyValue &entry);
  std::optional<Target> findPreset(const KeyValue &entry);
  std::string pathOf(StringRef base) const;
  bool enter(Target &target, const KeyValue &entry);
  bool fail(const char *at, const llvm::Twine &message);

  StringRef text, path;
  const ReadDeviceFile &readFile;
  std::vector<std::string> chain; ///< the descriptions that have this one as a base, and this one
  std::vector<KeyValue> entries;
};

} // namespace

/// A text of the file as a message quotes it.
static std::string quoted(StringRef text) {
  bool isLong = text.size() > 80;
  return "`" + text.take_front(80).str() + (isLong ? "…`" : "`");
}

/// Notes the problem at a place in the text. Columns count code points from 1.
bool DeviceParser::fail(const char *at, const llvm::Twine &message) {
  StringRef before = text.take_front(at - text.data());
  size_t start = before.rfind('\n') + 1; // 0 if there is none
  auto isFirstByte = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  size_t line = before.count('\n') + 1, column = llvm::count_if(before.drop_front(start), isFirstByte) + 1;
  problem = (path + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " + message).str();
  return false;
}

/// Whether the bytes can be a description.
bool DeviceParser::checkBytes() {
  if (text.empty()) return fail(text.data(), "expected a description of a device, got an empty file");
  if (text.size() > mostDeviceText) return fail(text.data(), "expected at most 64 KiB, got a larger file");
  const auto *at = reinterpret_cast<const llvm::UTF8 *>(text.begin()),
             *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  while (at != end) {
    unsigned count = llvm::getNumBytesForUTF8(*at);
    bool isText = count <= end - at && llvm::isLegalUTF8Sequence(at, at + count) && *at != 0x7F &&
                  (*at >= 0x20 || *at == '\n' || *at == '\t' || (*at == '\r' && at + 1 != end && at[1] == '\n'));
    if (!isText)
      return fail(reinterpret_cast<const char *>(at),
                  "expected text in UTF-8, got the byte 0x" + llvm::utohexstr(*at, /*LowerCase=*/true, 2));
    at += count;
  }
  if (text.ends_with("\n")) return true;
  return fail(text.end(), "expected a newline at the end of the last line; is the file complete?");
}

const KeyValue *DeviceParser::find(StringRef key) const {
  auto found = llvm::find_if(entries, [&](const KeyValue &entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

bool DeviceParser::scanLine(StringRef line) {
  StringRef written = line.take_until([](char c) { return c == '#'; }).trim(" \t\r");
  if (written.empty()) return true;
  size_t equals = written.find('=');
  if (equals == StringRef::npos) return fail(written.begin(), "expected `key = value`, got " + quoted(written));
  StringRef key = written.take_front(equals).rtrim(" \t"), value = written.drop_front(equals + 1).ltrim(" \t");
  if (key.empty()) return fail(written.begin(), "expected a key before `=`");
  if (value.empty()) return fail(written.end(), "expected a value for " + quoted(key));
  if (const KeyValue *first = find(key))
    return fail(key.begin(),
                quoted(key) + " has a value already, in line " +
                    llvm::Twine(StringRef(text.begin(), first->key.begin() - text.begin()).count('\n') + 1));
  entries.push_back({key, value});
  return true;
}

bool DeviceParser::scan() {
  for (StringRef rest = text; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    if (!scanLine(line)) return false;
    rest = after;
  }
  return true;
}

std::optional<Target> DeviceParser::findPreset(const KeyValue &entry) {
  llvm::SmallVector<StringRef> names;
  for (const DevicePreset &preset : devicePresets()) {
    if (preset.name == entry.value) return readPreset(preset);
    names.push_back(preset.name);
  }
  StringRef nearest = nearestKey(entry.value, names);
  fail(entry.value.begin(), "no description is called " + quoted(entry.value) +
                                (nearest.empty() ? "; there are " + llvm::join(names, ", ") + ", and paths of files"
                                                 : "; did you mean `" + nearest.str() + "`?"));
  return std::nullopt;
}

/// The path of a base, which is relative to this file.
std::string DeviceParser::pathOf(StringRef base) const {
  llvm::SmallString<128> file = base;
  if (!llvm::sys::path::is_absolute(base)) {
    file = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(file, base);
  }
  llvm::sys::path::remove_dots(file, /*remove_dot_dot=*/false);
  return file.str().str();
}

std::optional<Target> DeviceParser::parseBase(const KeyValue &entry) {
  const char *at = entry.value.begin();
  if (chain.size() > mostBases) return fail(at, "expected at most 16 bases, one of another"), std::nullopt;
  if (!isDevicePath(entry.value)) return findPreset(entry);
  std::string file = pathOf(entry.value), wrong, route = llvm::join(chain, " -> ") + " -> " + file;
  if (llvm::is_contained(chain, file))
    return fail(at, "the base leads back to a description that needs it: " + route), std::nullopt;
  std::optional<std::string> read = readFile(file, wrong);
  if (!read) return fail(at, "cannot read the base " + quoted(file) + ": " + wrong), std::nullopt;
  DeviceParser base(*read, file, readFile, chain);
  std::optional<Target> target = base.parse();
  if (!target) problem = base.problem; // it names a line of the base
  return target;
}

/// What the description begins with: its base, or the fields of its kind.
std::optional<Target> DeviceParser::begin() {
  const KeyValue *kind = find(kindKey), *base = find(baseKey);
  if (kind && kind->value != "cpu" && kind->value != "gpu")
    return fail(kind->value.begin(), "expected `cpu` or `gpu`, got " + quoted(kind->value)), std::nullopt;
  if (!kind && !base)
    return fail(text.begin(), "expected `kind = cpu`, `kind = gpu` or `base = NAME` in the description"), std::nullopt;
  if (!base) return Target::ofKind(kind->value == "gpu" ? Target::Kind::Gpu : Target::Kind::Cpu);
  std::optional<Target> target = parseBase(*base);
  if (target && kind && (kind->value == "gpu") != target->isGpu())
    return fail(kind->value.begin(), "the base describes " + nameOf(target->kind)), std::nullopt;
  return target;
}

bool DeviceParser::enter(Target &target, const KeyValue &entry) {
  if (entry.key == nameKey || entry.key == kindKey || entry.key == baseKey) return true;
  std::string wrong = checkKey(entry.key, target.kind);
  if (!wrong.empty()) return fail(entry.key.begin(), quoted(entry.key) + " " + wrong);
  FieldKey key = findDeviceField(entry.key);
  TextProblem found;
  if (std::optional<DeviceValue> value = parseValue(*key.field, entry.value, found))
    return assign(target, key, *value), true;
  return fail(entry.value.begin() + std::min(found.offset, entry.value.size()),
              quoted(entry.key) + ": " + found.message);
}

std::optional<Target> DeviceParser::parse() {
  chain.push_back(path.str());
  if (!checkBytes() || !scan()) return std::nullopt;
  const KeyValue *name = find(nameKey);
  if (name && !isDeviceName(name->value))
    return fail(name->value.begin(),
                "expected a name of at most 64 letters, digits, `-`, `_` and `.`, got " + quoted(name->value)),
           std::nullopt;
  std::optional<Target> target = begin();
  if (!target) return std::nullopt;
  if (!name) return fail(text.begin(), "expected `name = NAME` in the description"), std::nullopt;
  target->called = name->value.str();
  for (const KeyValue &entry : entries)
    if (!enter(*target, entry)) return std::nullopt;
  StringRef missing = missingField(*target);
  if (missing.empty()) return target;
  return fail(text.end(), "expected `" + missing + " = …`, or a base that has it"), std::nullopt;
}

std::optional<Target> tessera::parseDevice(StringRef text, StringRef path, const ReadDeviceFile &readFile,
                                           std::string &problem) {
  llvm::SmallString<128> place = path;
  llvm::sys::path::remove_dots(place, /*remove_dot_dot=*/false);
  DeviceParser parser(text, place, readFile, {});
  std::optional<Target> target = parser.parse();
  if (!target) problem = parser.problem;
  return target;
}

Target tessera::readPreset(const DevicePreset &preset) {
  auto readFile = [](const std::string &, std::string &problem) -> std::optional<std::string> {
    return problem = "a preset names presets only", std::nullopt;
  };
  std::string problem, path = (preset.name + ".device").str();
  std::optional<Target> target = parseDevice(preset.text, path, readFile, problem);
  if (target && target->called != preset.name) problem = path + ": expected `name` to be that of the file";
  if (!problem.empty()) llvm::report_fatal_error(llvm::Twine(problem));
  target->device = preset.name;
  target->called.clear();
  return *target;
}

std::string tessera::describe(const Target &target) {
  std::string text = ("name = " + target.name() + "\nkind = " + (target.isGpu() ? "gpu" : "cpu") + "\n").str();
  for (const auto &[key, value] : knownFields(target))
    text += key + " = " + formatValue(*findDeviceField(key).field, value) + "\n";
  return text;
}
