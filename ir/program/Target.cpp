//===- Target.cpp - the device that a program is for ----------------------===//

#include "ir/program/Target.h"
#include "ir/program/Program.h"

using namespace mlir;
using namespace tessera;

static constexpr int64_t mebi = 1 << 20;

static Target cpu(StringRef name) {
  Target target;
  target.device = name;
  return target;
}

/// AMD's processors since Zen prefetch across pages; Intel's stay within a page.
static Target zen(StringRef name) {
  Target target = cpu(name);
  target.speeds = SpeedTable::Amd;
  target.prefetchesAcrossPages = true;
  return target;
}

/// With cuBLASLt. Numbers: CUDA C++ Programming Guide (compute capabilities), data sheets.
static Target gpu(StringRef name, int64_t multiprocessors, int64_t threads, int64_t cacheBytes) {
  Target target;
  target.device = name;
  target.kind = Target::Kind::Gpu;
  target.library = {.givesBiasedSumsOnly = true,
                    .roundsBiases = true,
                    .hasGeluEpilogues = true,
                    .joinsContractions = true,
                    .fp8Multiple = 16,
                    .rowAlignment = 16,
                    .sumsFp8Innermost = true};
  target.gpu = {multiprocessors, threads, cacheBytes};
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
  return target;
}

/// A GPU before Hopper, for which cuBLASLt's algorithms with GELU are not relied upon.
static Target withoutGelu(Target target) {
  target.library.hasGeluEpilogues = false;
  return target;
}

/// All descriptions; the first of a kind is its default.
static ArrayRef<Target> descriptions() {
  static const Target all[] = {cpu("x86"),
                               zen("zen"),
                               gpu("h100", 132, 2048, 50 * mebi),
                               withoutGelu(gpu("a100", 108, 2048, 40 * mebi)),
                               withoutGelu(gpu("l40s", 142, 1536, 96 * mebi)),
                               gpu("b200", 148, 2048, 126 * mebi),
                               gpu("rtx5090", 170, 1536, 96 * mebi)};
  return all;
}

static const Target &defaultOf(Target::Kind kind) {
  return *llvm::find_if(descriptions(), [&](const Target &target) { return target.kind == kind; });
}

/// The only field that may be 0.
static constexpr StringLiteral cacheKey = "cache_bytes";

/// Fields that a module may record beside the name of a description.
static constexpr std::pair<StringLiteral, int64_t &(*)(Target &)> recordedFields[] = {
    {cacheKey, [](Target &target) -> int64_t & { return target.gpu.cacheBytes; }},
    {"fused_speed_percent", [](Target &target) -> int64_t & { return target.fusedSpeedPercent; }},
    {"multiprocessors", [](Target &target) -> int64_t & { return target.gpu.multiprocessors; }},
    {"threads_per_multiprocessor", [](Target &target) -> int64_t & { return target.gpu.threadsPerMultiprocessor; }}};
static constexpr StringLiteral nameKey = "name";

/// More than any device has, and little enough for products of two fields.
static constexpr int64_t largestField = int64_t(1) << 40;

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
  for (const Target &target : descriptions())
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

/// Reads the kind and the description that a module records; else says in `problem` what is wrong with them.
static std::optional<Target> readDevice(ModuleOp module, std::string &problem) {
  auto recordedKind = module->getAttrOfType<StringAttr>(attrs::target);
  std::optional<Target::Kind> kind = kindOf(recordedKind);
  if (!kind) {
    problem = "expected `tsr.target` to be ";
    for (auto [known, name] : recordedKinds) problem += ("\"" + name + "\" or ").str();
    problem += ("absent, got \"" + recordedKind.getValue() + "\"").str();
    return std::nullopt;
  }
  Target target = defaultOf(*kind);
  Attribute recorded = module->getAttr(attrs::device);
  if (!recorded) return target;
  auto fields = dyn_cast<DictionaryAttr>(recorded);
  auto name = fields ? fields.getAs<StringAttr>(nameKey) : dyn_cast<StringAttr>(recorded);
  std::optional<Target> found = name ? Target::named(name.getValue()) : std::nullopt;
  if (!found || found->kind != target.kind) {
    problem = "expected `tsr.device` to name a description of the target:";
    for (const Target &other : descriptions())
      if (other.kind == target.kind) problem += " " + other.device.str();
    return std::nullopt;
  }
  for (NamedAttribute field : fields ? fields.getValue() : ArrayRef<NamedAttribute>()) {
    if (field.getName() == nameKey) continue;
    const auto *number =
        llvm::find_if(recordedFields, [&](const auto &known) { return field.getName() == known.first; });
    auto value = dyn_cast<IntegerAttr>(field.getValue());
    if (number == std::end(recordedFields) || !value) {
      problem = "`tsr.device`: `" + field.getName().str() + "` is not a field of a device";
      return std::nullopt;
    }
    int64_t least = field.getName() == cacheKey ? 0 : 1;
    if (!value.getType().isSignlessInteger(64) || value.getInt() < least || value.getInt() > largestField) {
      problem = "`tsr.device`: expected from " + std::to_string(least) + " to 2^40 (i64) for `" +
                field.getName().str() + "`, got ";
      llvm::raw_string_ostream(problem) << value;
      return std::nullopt;
    }
    number->second(*found) = value.getInt();
  }
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
  Target source = preferred == Preference::Speed ? *named(device) : Target(); // the latter trades nothing
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
  Target own = *this, plain = *named(device);
  SmallVector<NamedAttribute> fields;
  for (auto [name, field] : recordedFields)
    if (field(own) != field(plain)) fields.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(field(own))));
  if (fields.empty() && device == defaultOf(kind).device)
    module->removeAttr(attrs::device);
  else if (fields.empty())
    module->setAttr(attrs::device, builder.getStringAttr(device));
  else {
    fields.push_back(builder.getNamedAttr(nameKey, builder.getStringAttr(device)));
    module->setAttr(attrs::device, builder.getDictionaryAttr(fields));
  }
}
