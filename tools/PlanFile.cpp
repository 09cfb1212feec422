//===- PlanFile.cpp - the file of `--plan` --------------------------------===//

#include "tools/PlanFile.h"
#include "frontend/diagnostics/Source.h"
#include "ir/program/Program.h"
#include "ir/program/Target.h"
#include "passes/Pipeline.h"
#include "passes/sharding/search/ShardingGraph.h"
#include "runtime/base/ReplacementFile.h"
#include "tools/Messages.h"
#include "tools/OutputConflicts.h"
#include "tools/PhaseRun.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <set>

using namespace mlir;
using namespace tessera;
using runtime::fail;
using runtime::Json;

/// Of the format.
static constexpr int64_t planVersion = 1;
/// A line takes a hundred bytes, and a program has some thousand ops.
static constexpr size_t mostPlanBytes = 8 << 20;
static constexpr int deepestPlan = 8;
/// As for `--devices`.
static constexpr int64_t mostDevices = 65536;

//===----------------------------------------------------------------------===//
// What a plan depends on
//===----------------------------------------------------------------------===//

/// The settings `compute` of a module: "bf16".
static std::string precisionOf(ModuleOp module) {
  auto settings = module->getAttrOfType<DictionaryAttr>(attrs::settings);
  auto compute = settings ? settings.getAs<DictionaryAttr>("compute") : DictionaryAttr();
  auto type = compute ? compute.getAs<StringAttr>("type") : StringAttr();
  auto weights = compute ? compute.getAs<StringAttr>("weights") : StringAttr();
  return (type ? type.str() : "f32") + (weights ? ", weights " + weights.str() : "");
}

static std::string descriptionOf(ModuleOp module) {
  Target target = Target::of(module);
  if (target.called.empty()) return "";
  std::string text;
  llvm::raw_string_ostream(text) << target.recorded(module.getContext());
  return text;
}

static std::vector<std::string> shardsOf(const MeshOptions &options) {
  std::vector<std::string> shards;
  for (const std::string &text : options.shards)
    for (StringRef part : llvm::split(text, ',')) shards.push_back(part.str());
  return shards;
}

/// In any order, and as often as they like.
static bool saySame(std::vector<std::string> one, std::vector<std::string> other) {
  return std::set(one.begin(), one.end()) == std::set(other.begin(), other.end());
}

/// "--mesh data=2 --shard ff=tensor".
static std::string wordsOf(const std::string &mesh, ArrayRef<std::string> shards, std::optional<int> zero) {
  SmallVector<std::string> words;
  if (!mesh.empty()) words.push_back("--mesh " + mesh);
  if (!shards.empty()) words.push_back("--shard " + llvm::join(shards, ","));
  if (zero) words.push_back("--zero " + std::to_string(*zero));
  return words.empty() ? "none of --mesh, --shard and --zero" : llvm::join(words, " ");
}

static bool saysPins(const MeshOptions &options) {
  return !options.mesh.empty() || !options.shards.empty() || options.zero;
}

MeshOptions PlanFile::complete(const MeshOptions &given) const {
  MeshOptions completed = given;
  completed.devices = devices();
  if (!saysPins(given)) completed.mesh = mesh, completed.shards = shards, completed.zero = zero;
  return completed;
}

/// In what a command differs from the one that a plan was written by; empty if in nothing that is said of ranks.
static std::string findOtherRanks(const PlanFile &plan, const CommandOptions &options) {
  const MeshOptions &given = options.mesh;
  std::optional<Machines> machines = options.device ? options.device->machines : std::nullopt;
  int64_t devices = given.devices > 0 ? given.devices : machines ? machines->allDevices() : plan.devices();
  if (devices != plan.devices())
    return "it is for " + std::to_string(plan.devices()) + " devices, and this is for " + std::to_string(devices);
  Machines now = machines.value_or(Machines{1, devices});
  if (now != plan.machines) return "it is for " + plan.machines.text() + ", and this is for " + now.text();
  std::vector<std::string> shards = shardsOf(given);
  bool isSame = given.mesh == plan.mesh && saySame(shards, plan.shards) && given.zero == plan.zero;
  if (!saysPins(given) || isSame) return "";
  return "it was found with " + wordsOf(plan.mesh, plan.shards, plan.zero) + ", and this says " +
         wordsOf(given.mesh, shards, given.zero);
}

static std::string findOtherTarget(const PlanFile &plan, ModuleOp module) {
  std::string device = Target::of(module).name().str(), precision = precisionOf(module);
  if (device != plan.device) return "it is for the device " + plan.device + ", and this is for " + device;
  if (descriptionOf(module) != plan.description) return "the description of the device " + device + " has changed";
  if (precision != plan.precision)
    return "it is for the precision " + plan.precision + ", and this is for " + precision;
  return "";
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

static Json asJson(const std::vector<PlannedEntry> &entries) {
  Json object = Json::object();
  for (const PlannedEntry &entry : entries) {
    Json texts = Json::array();
    for (const PlannedAxes &axes : entry.axes) texts.push_back(textOf(axes));
    object[entry.name] = entry.axes.size() == 1 ? texts.front() : texts;
  }
  return object;
}

Json tessera::planFileAsJson(const PlanFile &plan) {
  const ShardingPlan &sharding = plan.sharding;
  Json mesh = Json::object();
  for (const auto &[name, size] : sharding.mesh) mesh[name] = size;
  Json search = {{"seconds", sharding.seconds}, {"bound", sharding.bound}, {"bytes", sharding.bytes}};
  if (sharding.memory) search["memory"] = *sharding.memory;
  Json json = {{"tessera_plan", planVersion}, {"compiler", "tessera " TESSERA_VERSION}, {"device", plan.device}};
  if (!plan.description.empty()) json["description"] = plan.description;
  json["precision"] = plan.precision;
  json["machines"] = {{"count", plan.machines.count}, {"devices", plan.machines.devices}};
  json["options"] = {
      {"mesh", plan.mesh}, {"shard", plan.shards}, {"zero", plan.zero ? Json(*plan.zero) : Json(nullptr)}};
  json["search"] = std::move(search);
  json["mesh"] = std::move(mesh);
  json["states"] = asJson(sharding.states);
  json["inputs"] = asJson(sharding.inputs);
  json["ops"] = asJson(sharding.ops);
  return json;
}

static double asNumber(const Json &value, const std::string &where) {
  if (!value.is_number()) fail("{}: expected a number", where);
  auto number = value.get<double>();
  if (!(number >= 0)) fail("{}: expected no negative number, got {}", where, number);
  if (!(number < 0x1p62)) fail("{}: expected a number below 2^62, got {}", where, number);
  return number;
}

/// An error for keys that have no meaning, as a misspelt one.
static void refuseOtherKeys(const Json &json, std::initializer_list<std::string_view> known, const std::string &where) {
  for (const auto &[key, value] : json.items())
    if (!llvm::is_contained(known, key)) fail("{}: unknown key '{}'", where, key);
}

static int64_t asCount(const Json &value, const std::string &where) {
  int64_t count = runtime::asInteger(value, where);
  if (count < 1 || count > mostDevices) fail("{}: expected a number from 1 to {}, got {}", where, mostDevices, count);
  return count;
}

static PlannedAxes asAxes(const Json &value, const std::string &where) {
  std::string text = runtime::asString(value, where);
  std::optional<PlannedAxes> axes = parsePlannedAxes(text);
  if (!axes) fail("{}: expected axes such as 'batch: 64 = data, embed: 768', got '{}'", where, text);
  return *axes;
}

/// `mayBeLists`: of repeats.
static std::vector<PlannedEntry> asEntries(const Json &json, const char *key, const std::string &path,
                                           bool mayBeLists = false) {
  const Json &object = runtime::member(json, key, path);
  std::string where = path + ": '" + key + "'";
  if (!object.is_object()) fail("{}: expected an object", where);
  std::vector<PlannedEntry> entries;
  for (const auto &[name, value] : object.items()) {
    std::string whose = where + ": '" + name + "'";
    PlannedEntry &entry = entries.emplace_back(PlannedEntry{name, {}});
    if (mayBeLists && value.is_array())
      for (const Json &element : value) entry.axes.push_back(asAxes(element, whose));
    else
      entry.axes.push_back(asAxes(value, whose));
  }
  return entries;
}

static void readMesh(const Json &json, PlanFile &plan, const std::string &path) {
  const Json &mesh = runtime::member(json, "mesh", path);
  std::string where = path + ": 'mesh'";
  if (!mesh.is_object()) fail("{}: expected an object", where);
  int64_t ranks = 1;
  for (const auto &[name, value] : mesh.items()) {
    int64_t size = asCount(value, where);
    if (name.empty()) fail("{}: an axis has no name", where);
    if (std::string problem = checkMeshText(name + "=" + std::to_string(size)); !problem.empty())
      fail("{}: {}", where, problem);
    if (ranks > mostDevices) break;
    ranks *= size;
    plan.sharding.mesh.emplace_back(name, size);
  }
  if (ranks != plan.devices()) fail("{}: has {} ranks, and 'machines' has {} devices", where, ranks, plan.devices());
  if (plan.sharding.mesh.size() > mostMeshAxes) fail("{}: has more than {} axes", where, mostMeshAxes);
}

static void readOptions(const Json &json, PlanFile &plan, const std::string &path) {
  const Json &options = runtime::member(json, "options", path);
  std::string where = path + ": 'options'";
  plan.mesh = runtime::asString(runtime::member(options, "mesh", where), where);
  const Json &shards = runtime::member(options, "shard", where), &zero = runtime::member(options, "zero", where);
  if (!shards.is_array()) fail("{}: 'shard': expected a list", where);
  for (const Json &shard : shards) {
    plan.shards.push_back(runtime::asString(shard, where));
    if (std::string problem = checkShardText(plan.shards.back()); !problem.empty()) fail("{}: {}", where, problem);
  }
  if (std::string problem = plan.mesh.empty() ? "" : checkMeshText(plan.mesh); !problem.empty())
    fail("{}: {}", where, problem);
  if (zero.is_null()) return;
  plan.zero = static_cast<int>(runtime::asInteger(zero, where));
  if (*plan.zero < 0 || *plan.zero > 3) fail("{}: 'zero': expected a level from 0 to 3", where);
}

PlanFile tessera::parsePlanFile(const std::string &text, const std::string &path) {
  using runtime::member;
  Json json = runtime::parseJson(text, path, 0, deepestPlan);
  if (!json.is_object() || !json.contains("tessera_plan")) fail("{}: is no plan that --plan wrote", path);
  if (int64_t version = runtime::asInteger(json["tessera_plan"], path); version != planVersion)
    fail("{}: is a plan of version {}, and this compiler reads version {}", path, version, planVersion);
  refuseOtherKeys(json,
                  {"tessera_plan", "compiler", "device", "description", "precision", "machines", "options", "search",
                   "mesh", "states", "inputs", "ops"},
                  path);
  PlanFile plan;
  plan.device = runtime::asString(member(json, "device", path), path + ": 'device'");
  if (json.contains("description")) plan.description = runtime::asString(json["description"], path);
  plan.precision = runtime::asString(member(json, "precision", path), path + ": 'precision'");
  const Json &machines = member(json, "machines", path), &search = member(json, "search", path);
  std::string where = path + ": 'machines'";
  plan.machines = {asCount(member(machines, "count", where), where),
                   asCount(member(machines, "devices", where), where)};
  where = path + ": 'search'";
  plan.sharding.seconds = asNumber(member(search, "seconds", where), where);
  plan.sharding.bound = asNumber(member(search, "bound", where), where);
  plan.sharding.bytes = asNumber(member(search, "bytes", where), where);
  refuseOtherKeys(search, {"seconds", "bound", "bytes", "memory"}, where);
  if (search.contains("memory")) plan.sharding.memory = asNumber(search["memory"], where);
  if (plan.sharding.bound > plan.sharding.seconds) fail("{}: the bound is above the seconds", where);
  readOptions(json, plan, path);
  readMesh(json, plan, path);
  plan.sharding.states = asEntries(json, "states", path);
  plan.sharding.inputs = asEntries(json, "inputs", path);
  plan.sharding.ops = asEntries(json, "ops", path, /*mayBeLists=*/true);
  return plan;
}

//===----------------------------------------------------------------------===//
// The option
//===----------------------------------------------------------------------===//

/// What is wrong with the file; empty if nothing is.
static std::string problemOfFile(const std::string &path, std::optional<PlanFile> &plan) {
  std::string problem;
  std::unique_ptr<llvm::MemoryBuffer> buffer = readTextFile(path, mostPlanBytes, problem);
  if (!buffer) return "cannot read the plan " + path + ": " + problem;
  try {
    plan = parsePlanFile(buffer->getBuffer().str(), path);
    return "";
  } catch (const std::exception &error) {
    // No advice to delete what may be a model.
    bool wasPlan = buffer->getBuffer().contains("\"tessera_plan\"");
    return std::string(error.what()) +
           (wasPlan ? "; delete it to have a plan written anew" : "; name a plan, or a file that does not exist yet");
  }
}

int tessera::readPlanFile(ModuleOp module, const CommandOptions &options, std::optional<PlanFile> &plan) {
  const std::string &path = options.mesh.plan;
  if (path.empty()) return ExitDone;
  auto reached = module->getAttrOfType<StringAttr>(attrs::phase);
  if (reached && phaseIndex(reached.getValue()) >= phaseIndex("shard")) {
    printError(options.input.path + ": the module was taken through `shard`; compile the model again, or leave out "
                                    "--plan");
    return ExitUsage;
  }
  if (llvm::sys::fs::exists(path)) {
    std::string problem = problemOfFile(path, plan);
    if (!problem.empty()) return printError(problem), ExitInput;
    std::string other = findOtherRanks(*plan, options);
    return other.empty() ? ExitDone : refusePlan(options, other);
  }
  if (options.mesh.devices > 1) {
    std::string problem = findUnwritable(path);
    return problem.empty() ? ExitDone : (printError(problem), ExitInput);
  }
  printError("--plan: there is no file " + path + " yet; it keeps what --devices finds: say for how many, from 2 on");
  return ExitUsage;
}

int tessera::refusePlan(const CommandOptions &options, const llvm::Twine &why) {
  printError(options.input.path + ": the plan " + options.mesh.plan + " does not suit: " + why +
             "; delete the file to have a plan found anew, or compile with --devices and without --plan");
  return ExitInput;
}

int tessera::enterPlan(ModuleOp module, const PlanFile &plan, const CommandOptions &options) {
  std::string problem = findOtherTarget(plan, module);
  if (!problem.empty()) return refusePlan(options, problem);
  plan.sharding.record(module);
  return ExitDone;
}

int tessera::writePlanFile(ModuleOp module, const CommandOptions &options, const PhaseRun &run) {
  const std::string &path = options.mesh.plan;
  if (path.empty()) return ExitDone;
  if (!run.common->found) {
    if (module->hasAttr(planAttr) || llvm::sys::fs::exists(path)) return ExitDone; // it was read
    printError("--compile-to=" + options.compileTo + " ends before `shard`, which finds what --plan keeps");
    return ExitUsage;
  }
  PlanFile plan;
  plan.device = Target::of(module).name().str(), plan.description = descriptionOf(module);
  plan.precision = precisionOf(module);
  plan.machines = Machines::of(module).value_or(Machines{1, options.mesh.devices});
  plan.mesh = options.mesh.mesh, plan.shards = shardsOf(options.mesh), plan.zero = options.mesh.zero;
  plan.sharding = *run.common->found;
  std::string text = runtime::dumpJson(planFileAsJson(plan), 1) + "\n";
  if (llvm::sys::fs::exists(path)) {
    std::string problem; // ranks that compile at the same time find the same
    std::unique_ptr<llvm::MemoryBuffer> appeared = readTextFile(path, mostPlanBytes, problem);
    if (appeared && appeared->getBuffer() == text) return ExitDone;
    printError("the plan " + path + " appeared while another one was found, and is left as it is");
    return ExitInput;
  }
  try {
    runtime::ReplacementFile file(path);
    file.append(text);
    file.commit();
    return ExitDone;
  } catch (const runtime::Error &error) {
    printError(error.what());
    return ExitInput;
  }
}
