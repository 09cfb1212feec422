//===- Target.cpp - the device that a program is for ----------------------===//

#include "ir/program/Target.h"
#include "ir/program/DeviceFields.h"
#include "ir/program/DeviceText.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

static constexpr int64_t mebi = 1 << 20;

/// Of a GPU, with cuBLASLt.
static Target anyGpu() {
  Target target;
  target.device = "gpu";
  target.kind = Target::Kind::Gpu;
  target.library = {.givesBiasedSumsOnly = true,
                    .roundsBiases = true,
                    .hasGeluEpilogues = true,
                    .joinsContractions = true,
                    .fp8Multiple = 16,
                    .rowAlignment = 16,
                    .sumsFp8Innermost = true};
  // A pass over a carried sum takes as long as some 200 rows of the contractions (by the data sheet of an H100, with
  // contractions at 60 % of its peak; not measured): it should be few percent of them.
  target.leastChunkRows = 8192;
  // Each chunk reads the weights again, and reads and writes their gradient.
  target.leastChunkedBytes = 4096 * mebi, target.prefersLargeChunks = true;
  target.savesStoredOperands = true, target.addsToResiduals = true;
  target.writesByColumns = true;
  target.fewSums = 4096, target.longSum = 1024; // enough for a GPU full of threads
  // A GPU holds one tile of an operand at a time, and has threads for the rows of one matrix.
  target.leastTiledMatrices = 1, target.mostTiledBytes = std::numeric_limits<int64_t>::max();
  target.tilesInRegisters = true;
  target.fusesLaunches = true, target.fusesGemms = false;
  target.overlapsExchanges = true;
  return target;
}

static Target anyCpu() {
  Target target;
  target.device = "cpu";
  return target;
}

Target Target::ofKind(Kind kind) { return kind == Kind::Gpu ? anyGpu() : anyCpu(); }

ArrayRef<Target> Target::presets() {
  static const std::vector<Target> all = [] {
    std::vector<Target> read;
    for (const DevicePreset &preset : devicePresets()) read.push_back(readPreset(preset));
    return read;
  }();
  return all;
}

static const Target &defaultOf(Target::Kind kind) {
  return *llvm::find_if(Target::presets(), [&](const Target &target) { return target.kind == kind; });
}

/// The preset of that name, or what all devices of a kind have in common.
static std::optional<Target> baseNamed(StringRef name) {
  for (Target::Kind kind : {Target::Kind::Cpu, Target::Kind::Gpu})
    if (Target common = Target::ofKind(kind); common.device == name) return common;
  return Target::named(name);
}

/// The keys of `tsr.device` that are no fields: the preset, and the name of the description.
static constexpr StringLiteral nameKey = "name", calledKey = "called";

/// The kinds as `tsr.target` names them. A module without the attribute is for a CPU.
static constexpr std::pair<Target::Kind, StringLiteral> recordedKinds[] = {{Target::Kind::Gpu, "cuda"}};

/// The preferences as `tsr.prefer` names them. A module without the attribute prefers speed.
static constexpr std::pair<Preference, StringLiteral> recordedPreferences[] = {{Preference::Memory, "memory"}};

/// The kind that `recorded` names.
static std::optional<Target::Kind> kindOf(StringAttr recorded) {
  if (!recorded) return Target::Kind::Cpu;
  for (auto [kind, name] : recordedKinds)
    if (recorded.getValue() == name) return kind;
  return std::nullopt;
}

std::optional<Target> Target::named(StringRef device) {
  for (const Target &target : presets())
    if (target.device == device) return target;
  return std::nullopt;
}

Target Target::forProcessor(StringRef processor) { return *named(processor.starts_with("znver") ? "zen" : "x86"); }

Target Target::forArchitecture(int architecture) {
  if (architecture < 86) return *named("a100");
  if (architecture < 90) return *named("l40s");
  if (architecture < 100) return *named("h100");
  if (architecture < 120) return *named("b200");
  return *named("rtx5090");
}

/// What `tsr.target` records.
static std::optional<Target::Kind> readKind(ModuleOp module, std::string &problem) {
  auto recorded = module->getAttrOfType<StringAttr>(attrs::target);
  std::optional<Target::Kind> kind = kindOf(recorded);
  if (kind) return kind;
  problem = "expected `tsr.target` to be ";
  for (auto [known, name] : recordedKinds) problem += ("\"" + name + "\" or ").str();
  problem += ("absent, got \"" + recorded.getValue() + "\"").str();
  return std::nullopt;
}

/// The value that an attribute is for a field, if the types agree.
static std::optional<DeviceValue> valueOf(const DeviceField &field, Attribute recorded) {
  std::optional<DeviceValue> value;
  if (auto flag = dyn_cast<BoolAttr>(recorded))
    value = flag.getValue();
  else if (auto number = dyn_cast<IntegerAttr>(recorded); number && number.getType().isSignlessInteger(64))
    value = number.getInt();
  else if (auto number = dyn_cast<FloatAttr>(recorded); number && number.getType().isF64())
    value = number.getValueAsDouble();
  else if (auto text = dyn_cast<StringAttr>(recorded))
    value = text.getValue().str();
  return value && value->index() == typeOf(field) ? value : std::nullopt;
}

static Attribute attributeOf(Builder &builder, const DeviceValue &value) {
  if (const auto *flag = std::get_if<bool>(&value)) return builder.getBoolAttr(*flag);
  if (const auto *number = std::get_if<int64_t>(&value)) return builder.getI64IntegerAttr(*number);
  if (const auto *number = std::get_if<double>(&value)) return builder.getF64FloatAttr(*number);
  return builder.getStringAttr(std::get<std::string>(value));
}

/// Enters one field of `tsr.device`; else says in `problem` what is wrong with it.
static bool enterField(Target &target, NamedAttribute recorded, std::string &problem) {
  StringRef key = recorded.getName();
  std::string wrong = checkKey(key, target.kind);
  if (!wrong.empty()) return problem = "`tsr.device`: `" + key.str() + "` " + wrong, false;
  FieldKey found = findDeviceField(key);
  std::optional<DeviceValue> value = valueOf(*found.field, recorded.getValue());
  static constexpr StringLiteral types[] = {"i64", "f64", "i1", "string"}; // as in DeviceValue
  wrong = value ? checkValue(*found.field, *value) : "expected a value";
  if (wrong.empty()) return assign(target, found, *value), true;
  problem = "`tsr.device`: " + wrong + " (" + types[typeOf(*found.field)].str() + ") for `" + key.str() + "`, got ";
  llvm::raw_string_ostream(problem) << recorded.getValue();
  return false;
}

/// Enters all fields of `tsr.device`.
static bool enterFields(Target &target, DictionaryAttr fields, std::string &problem) {
  for (NamedAttribute field : fields) {
    auto text = dyn_cast<StringAttr>(field.getValue());
    if (field.getName() == nameKey) continue;
    if (field.getName() == calledKey) {
      if (!text || !isDeviceName(text.getValue()))
        return problem = "`tsr.device`: expected `called` to be the name of a description", false;
      target.called = text.getValue().str();
    } else if (!enterField(target, field, problem))
      return false;
  }
  StringRef missing = missingField(target);
  if (!missing.empty()) problem = "`tsr.device`: expected a value for `" + missing.str() + "`";
  return missing.empty();
}

/// Reads the kind and the description that a module records; else says in `problem` what is wrong with them.
static std::optional<Target> readDevice(ModuleOp module, std::string &problem) {
  std::optional<Target::Kind> kind = readKind(module, problem);
  if (!kind) return std::nullopt;
  Attribute recorded = module->getAttr(attrs::device);
  if (!recorded) return defaultOf(*kind);
  auto fields = dyn_cast<DictionaryAttr>(recorded);
  auto name = fields ? fields.getAs<StringAttr>(nameKey) : dyn_cast<StringAttr>(recorded);
  std::optional<Target> found;
  if (name) found = fields ? baseNamed(name.getValue()) : Target::named(name.getValue());
  if (!found || found->kind != *kind) {
    problem = "expected `tsr.device` to name a description of the target:";
    for (const Target &other : Target::presets())
      if (other.kind == *kind) problem += " " + other.device.str();
    return std::nullopt;
  }
  if (fields && !enterFields(*found, fields, problem)) return std::nullopt;
  return found;
}

/// All that a module records; else says in `problem` what is wrong with it.
static std::optional<Target> readTarget(ModuleOp module, std::string &problem) {
  std::optional<Target> target = readDevice(module, problem);
  Attribute recorded = module->getAttr(attrs::prefer);
  if (!target || !recorded) return target;
  auto word = dyn_cast<StringAttr>(recorded);
  for (auto [preference, name] : recordedPreferences)
    if (word && word.getValue() == name) return target->preferring(preference);
  problem = "expected `tsr.prefer` to be ";
  for (auto [known, name] : recordedPreferences) problem += ("\"" + name + "\" or ").str();
  llvm::raw_string_ostream(problem) << "absent, got " << recorded;
  return std::nullopt;
}

llvm::FailureOr<Target> Target::read(ModuleOp module) {
  std::string problem;
  if (std::optional<Target> target = readTarget(module, problem)) return *target;
  return module.emitError(problem);
}

Target Target::of(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module) module = op->getParentOfType<ModuleOp>();
  std::string problem;
  std::optional<Target> target = module ? readTarget(module, problem) : std::nullopt;
  return target ? *target : defaultOf(Kind::Cpu);
}

Target Target::preferring(Preference preferred) const {
  Target target = *this;
  target.preference = preferred;
  Target source = preferred == Preference::Speed ? *baseNamed(device) : Target(); // the latter trades nothing
  target.leastChunkedBytes = source.leastChunkedBytes, target.prefersLargeChunks = source.prefersLargeChunks;
  target.savesStoredOperands = source.savesStoredOperands;
  return target;
}

void Target::record(ModuleOp module) const {
  Builder builder(module.getContext());
  module->removeAttr(attrs::prefer);
  for (auto [recorded, name] : recordedPreferences)
    if (recorded == preference) module->setAttr(attrs::prefer, builder.getStringAttr(name));
  module->removeAttr(attrs::target);
  for (auto [recorded, name] : recordedKinds)
    if (recorded == kind) module->setAttr(attrs::target, builder.getStringAttr(name));
  module->setAttr(attrs::device, recorded(module.getContext()));
  if (called.empty() && module->getAttr(attrs::device) == builder.getStringAttr(defaultOf(kind).device))
    module->removeAttr(attrs::device);
}

Attribute Target::recorded(MLIRContext *context) const {
  Builder builder(context);
  auto plain = knownFields(*baseNamed(device));
  SmallVector<NamedAttribute> fields;
  if (!called.empty()) fields.push_back(builder.getNamedAttr(calledKey, builder.getStringAttr(called)));
  for (const auto &known : knownFields(*this))
    if (!llvm::is_contained(plain, known))
      fields.push_back(builder.getNamedAttr(known.first, attributeOf(builder, known.second)));
  if (fields.empty()) return builder.getStringAttr(device);
  fields.push_back(builder.getNamedAttr(nameKey, builder.getStringAttr(device)));
  return builder.getDictionaryAttr(fields);
}
