//===- MeshOption.cpp - the options about ranks ---------------------------===//

#include "tools/MeshOption.h"
#include "ir/dialect/Attributes.h"
#include "passes/Pipeline.h"
#include "passes/sharding/StateShardings.h"
#include "runtime/base/PathPattern.h"
#include "runtime/ranks/Mesh.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace tessera;

std::string tessera::checkMeshText(const std::string &text) {
  try {
    runtime::Mesh::parse(text);
    return "";
  } catch (const runtime::Error &error) {
    return error.what();
  }
}

/// `AXIS=MESH` or `PATH:AXIS=MESH`; none if it is malformed. Without a path it is a rule of an axis.
static std::optional<StateRule> parseShardPart(StringRef text) {
  auto [left, along] = text.split('=');
  size_t colon = left.rfind(':');
  StringRef path = colon == StringRef::npos ? StringRef() : left.take_front(colon);
  StringRef axis = colon == StringRef::npos ? left : left.drop_front(colon + 1);
  bool lacksPath = colon != StringRef::npos && path.empty();
  if (axis.empty() || along.empty() || along.contains('=') || lacksPath) return std::nullopt;
  return StateRule{path.str(), axis.str(), along.str()};
}

std::string tessera::checkShardText(const std::string &text) {
  SmallVector<StringRef> parts;
  StringRef(text).split(parts, ',');
  for (StringRef part : parts) {
    std::optional<StateRule> rule = parseShardPart(part);
    if (!rule)
      return "expected AXIS=MESH_AXIS or PATH:AXIS=MESH_AXIS, as in ff=tensor or wte:vocab=tensor, got `" + part.str() +
             "`";
    if (std::string problem = misplacedStar(rule->path); !problem.empty()) return problem;
  }
  return "";
}

std::string tessera::checkLeavesText(const std::string &text) {
  constexpr int64_t most = 1 << 20;
  int64_t count = 0;
  bool isCount = !StringRef(text).getAsInteger(10, count) && count >= 2 && count <= most && llvm::isPowerOf2_64(count);
  return isCount ? "" : "expected a power of two from 2 to " + std::to_string(most) + ", got `" + text + "`";
}

/// Enters the rules of `--shard`. Returns a problem, or an empty string.
static std::string addShards(const std::vector<std::string> &shards, ShardSettings &settings) {
  std::map<std::string, std::string> rules;
  for (const std::string &text : shards) {
    SmallVector<StringRef> parts;
    StringRef(text).split(parts, ',');
    for (StringRef part : parts) {
      StateRule rule = *parseShardPart(part);
      if (!rule.path.empty()) {
        settings.states.push_back(rule);
        continue;
      }
      auto [known, isNew] = rules.try_emplace(rule.axis, rule.along);
      if (!isNew && known->second != rule.along)
        return "--shard lays `" + rule.axis + "` along both `" + known->second + "` and `" + rule.along + "`";
    }
  }
  for (const auto &[axis, along] : rules) settings.axes.push_back({axis, along});
  return "";
}

/// The mesh axis that the batch is laid along unless the user says otherwise.
static constexpr StringLiteral dataAxis = "data";

/// Lays the batch along the mesh axis `data`, if the mesh has it and no axis is. States may be divided along it all the
/// same.
static void addBatch(ModuleOp module, ShardSettings &settings) {
  auto isData = [](const auto &axis) { return axis.first == dataAxis; };
  if (llvm::none_of(settings.mesh, isData)) return;
  if (llvm::any_of(settings.axes, [](const AxisRule &rule) { return rule.along == dataAxis; })) return;
  for (StringRef batch : batchAxes(module)) {
    bool isLaid = llvm::any_of(settings.axes, [&](const AxisRule &rule) { return rule.axis == batch; });
    if (!isLaid) settings.axes.push_back({batch.str(), dataAxis.str()});
  }
  llvm::sort(settings.axes, [](const AxisRule &a, const AxisRule &b) { return a.axis < b.axis; });
}

std::string tessera::setMesh(ModuleOp module, const MeshOptions &options) {
  if (!options.isGiven()) return "";
  const ShardSettings recorded = ShardSettings::of(module);
  int64_t devices = options.devices > 0 ? options.devices : recorded.devices;
  bool needsMesh = !options.shards.empty() || options.zero > 0;
  if (options.mesh.empty() && needsMesh && devices < 2)
    return "--shard and --zero divide a program among ranks: say how many with --mesh, as in --mesh data=2, or with "
           "--devices";
  bool areMany = !options.mesh.empty() || !recorded.mesh.empty() || options.devices > 0 || recorded.devices > 0;
  if (options.reductions == "library" && !areMany)
    return "--reductions is about sums over ranks: say how many with --mesh, as in --mesh data=2";
  ShardSettings settings = recorded;
  if (!options.mesh.empty() || (devices > 0 && (!options.shards.empty() || options.zero))) {
    settings = {};
    runtime::Mesh mesh = options.mesh.empty() ? runtime::Mesh() : runtime::Mesh::parse(options.mesh);
    for (const runtime::MeshAxis &axis : mesh.axes()) settings.mesh.emplace_back(axis.name, axis.size);
    if (options.zero && (devices > 0 || *options.zero > 0)) settings.zero = static_cast<ZeroLevel>(*options.zero);
    if (std::string problem = addShards(options.shards, settings); !problem.empty()) return problem;
    addBatch(module, settings);
  }
  settings.devices = devices;
  settings.leaves = options.leaves > 0 ? options.leaves : recorded.leaves;
  settings.addsInLibrary = options.reductions.empty() ? recorded.addsInLibrary : options.reductions == "library";
  if (settings.devices > 0 && settings.leaves > 0)
    return "--leaves needs a mesh that is said, as in --mesh data=8: --devices does not know of leaves";
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  bool isSharded = reached && phaseIndex(reached.getValue()) >= phaseIndex("shard");
  if (isSharded && recorded.devices > 0 && options.mesh.empty()) settings.mesh = recorded.mesh; // it was found
  if (isSharded && !(settings == recorded))
    return "the module was taken through `shard` with other options about ranks; compile the model again, or leave out "
           "--mesh, --shard, --zero, --leaves, --reductions and --devices";
  settings.record(module);
  return "";
}
