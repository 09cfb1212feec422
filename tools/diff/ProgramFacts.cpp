//===- ProgramFacts.cpp - what is compared of a program --------------------===//

#include "tools/diff/ProgramFacts.h"
#include "runtime/train/MemoryNeeds.h"
#include <algorithm>
#include <cmath>
#include <map>

using namespace tessera;
using namespace tessera::runtime;

/// A plan contains a manifest, one level deeper than a manifest alone.
static constexpr int deepestPlan = deepestManifest + 1;

static constexpr const char *stepEntry = "step";

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

static double asAmount(const Json &value, const std::string &where) {
  double amount = value.is_number() ? value.get<double>() : -1;
  if (!std::isfinite(amount) || amount < 0) fail("{}: expected a number that is at least 0", where);
  return amount;
}

/// Member `key` of an object; none if it is missing.
static Amount amountAt(const Json &object, const char *key) {
  if (!object.is_object() || !object.contains(key)) return std::nullopt;
  return asAmount(object[key], fmt::format("'{}'", key));
}

static Amount product(Amount a, Amount b) { return a && b ? Amount(*a * *b) : std::nullopt; }
static Amount sum(Amount a, Amount b) { return a && b ? Amount(*a + *b) : std::nullopt; }

static const Json noList = Json::array(), noMembers = Json::object();

/// The list or object at `key`; `missing`, an empty one of its kind, if there is none.
static const Json &partAt(const Json &object, const char *key, const Json &missing) {
  if (!object.contains(key)) return missing;
  if (object[key].type() != missing.type())
    fail("'{}': expected {}", key, missing.is_array() ? "an array" : "an object");
  return object[key];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static NeededMemory neededMemory(const MemoryNeeds &needs) {
  NeededMemory needed;
  for (const MemoryNeed &need : needs.lines)
    if (!need.isPart) needed.emplace_back(need.name, need.isKnown ? Amount(need.bytes) : std::nullopt);
  return needed;
}

/// The same as a plan has it.
static NeededMemory neededMemory(const Json &needs) {
  NeededMemory needed;
  for (const Json &line : member(needs, "lines", "plan")) {
    if (member(line, "part", "plan") == true) continue;
    const Json &bytes = member(line, "bytes", "plan");
    needed.emplace_back(asString(member(line, "name", "plan"), "plan: 'name'"),
                        bytes.is_null() ? std::nullopt : Amount(asAmount(bytes, "plan: 'bytes'")));
  }
  return needed;
}

static void readNeeds(const Manifest &manifest, ProgramFacts &facts) {
  NeededMemory host = neededMemory(hostMemory(manifest, {std::nullopt, "a manifest does not say it"}));
  if (!manifest.isForGpu()) {
    facts.device = std::move(host);
    return;
  }
  facts.device = neededMemory(deviceMemory(manifest));
  facts.host = std::move(host);
}

static void readNeeds(const Json &plan, ProgramFacts &facts) {
  NeededMemory host = neededMemory(member(plan, "host", "plan"));
  if (facts.host) {
    facts.device = neededMemory(member(plan, "gpu", "plan"));
    facts.host = std::move(host);
  } else {
    facts.device = std::move(host);
  }
}

/// State is live at every moment. Its buffers are aligned, and count with that.
static std::map<std::string, double> stateByKind(const Manifest &manifest) {
  constexpr int64_t alignment = 64;
  std::map<std::string, double> kinds;
  for (const BufferSpec &buffer : manifest.buffers)
    if (buffer.entry == "*") kinds[buffer.kind] += (buffer.bytes + alignment - 1) / alignment * alignment;
  return kinds;
}

/// Live bytes at the peak of an entry function's timeline, by kind.
static std::map<std::string, double> liveByKind(const Json &timeline, std::map<std::string, double> state) {
  int64_t peak = asInteger(member(timeline, "peak", "timeline"), "timeline: 'peak'");
  for (const Json &value : partAt(timeline, "values", noList))
    if (asInteger(member(value, "first", "timeline"), "timeline: 'first'") <= peak &&
        asInteger(member(value, "last", "timeline"), "timeline: 'last'") >= peak)
      state[asString(member(value, "kind", "timeline"), "timeline: 'kind'")] +=
          asAmount(member(value, "bytes", "timeline"), "timeline: 'bytes'");
  return state;
}

static std::string passOf(const Json &moment) {
  return moment.contains("pass") ? asString(moment["pass"], "timeline: 'pass'") : "forward";
}

/// "backward, gradient in h.mlp": the last of the moments that have begun at the peak.
static std::string runningAtPeak(const Json &timeline) {
  int64_t peak = asInteger(member(timeline, "peak", "timeline"), "timeline: 'peak'");
  std::string running;
  for (const Json &moment : partAt(timeline, "moments", noList))
    if (asInteger(member(moment, "at", "timeline"), "timeline: 'at'") <= peak)
      running = passOf(moment) + ", " + asString(member(moment, "name", "timeline"), "timeline: 'name'");
  return running;
}

static void readTimelines(const Manifest &manifest, const Json &timelines, ProgramFacts &facts) {
  Amount live;
  std::map<std::string, double> state = stateByKind(manifest);
  for (const auto &[entry, timeline] : timelines.items()) {
    double bytes = 0;
    for (const auto &[kind, part] : liveByKind(timeline, state)) {
      bytes += part;
      if (entry == stepEntry) facts.peak.push_back({kind, Unit::Bytes, part});
    }
    live = std::max(live.value_or(0), bytes);
    if (entry == stepEntry) facts.running = runningAtPeak(timeline);
  }
  facts.sizes.push_back({"live at most", Unit::Bytes, live});
}

static void readMemory(const Manifest &manifest, const Json &json, ProgramFacts &facts) {
  facts.arenaBytes = manifest.arena.bytes;
  facts.sizes = {{"parameters", Unit::Count, manifest.parameters()},
                 {"state", Unit::Bytes, manifest.stateBytes()},
                 {"arena", Unit::Bytes, manifest.arena.bytes},
                 {"workspace of libraries", Unit::Bytes, manifest.arena.workspaceBytes},
                 {"scratch of a thread", Unit::Bytes, manifest.arena.scratchBytes}};
  readTimelines(manifest, partAt(partAt(json, "plan", noMembers), "timelines", noMembers), facts);
  facts.buffers = manifest.buffers;
  readNeeds(manifest, facts);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

static void readTimes(const Json &json, ProgramFacts &facts) {
  const Json &predicted = partAt(json, "predicted", noMembers);
  if (predicted.empty()) return;
  facts.timeSource = asString(member(predicted, "source", "'predicted'"), "'source' of predictions");
  for (const auto &[entry, time] : partAt(predicted, "entries", noMembers).items()) {
    facts.times.push_back({entry, Unit::Seconds, amountAt(time, "seconds")});
    for (const auto &[pass, seconds] : partAt(time, "passes", noMembers).items())
      facts.times.push_back({entry + " " + pass, Unit::Seconds, asAmount(seconds, "time of a pass")});
  }
}

Amount ProgramFacts::stepSeconds() const {
  for (const Figure &time : times)
    if (time.name == stepEntry) return time.amount;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Kernels and contractions
//===----------------------------------------------------------------------===//

namespace {
/// Sums the work of all calls of one name in one entry function.
class WorkList {
public:
  /// Enters `perCall` (one call) for each entry function that calls it, with the numbers of calls.
  void add(const WorkFacts &perCall, const Json &calls) {
    for (const auto &[entry, count] : calls.items()) add(perCall, entry, asAmount(count, "'calls'"));
  }
  void add(WorkFacts work, const std::string &entry, Amount calls) {
    work.entry = entry, work.calls = calls;
    for (Amount *amount : {&work.flops, &work.bytes, &work.seconds}) *amount = product(*amount, calls);
    auto [number, isNew] = numbers.try_emplace({entry, work.name, work.line}, list.size());
    if (isNew) return list.push_back(std::move(work));
    WorkFacts &known = list[number->second];
    known.makers.merge(work.makers);
    known.calls = sum(known.calls, work.calls), known.flops = sum(known.flops, work.flops);
    known.bytes = sum(known.bytes, work.bytes), known.seconds = sum(known.seconds, work.seconds);
  }
  std::vector<WorkFacts> take() { return std::move(list); }

private:
  std::vector<WorkFacts> list;
  std::map<std::array<std::string, 3>, size_t> numbers;
};
} // namespace

/// One call of a kernel.
static WorkFacts workOf(const KernelSpec &kernel, const Json &json) {
  WorkFacts work;
  work.name = kernel.of.empty() ? kernel.name : kernel.of;
  work.line = kernel.line;
  work.makers = {"generated"};
  work.flops = static_cast<double>(kernel.flops);
  work.bytes = static_cast<double>(kernel.read) + static_cast<double>(kernel.written);
  work.seconds = amountAt(json, "seconds");
  return work;
}

/// "brg:avx512_core, bf16, gelu".
static std::string makerOf(const GemmSpec &gemm, const Json &json) {
  std::string maker =
      json.contains("implementation") ? asString(json["implementation"], "'implementation'") : "library";
  maker += std::string(", ") + elementTypeName(gemm.a.type);
  if (gemm.b.type != gemm.a.type) maker += std::string(" and ") + elementTypeName(gemm.b.type);
  if (gemm.c.type != gemm.a.type) maker += std::string(" to ") + elementTypeName(gemm.c.type);
  if (gemm.tf32) maker += ", tf32";
  if (json.contains("epilogue")) maker += ", " + asString(json["epilogue"], "'epilogue'");
  return maker;
}

/// One call of a contraction.
static WorkFacts workOf(const GemmSpec &gemm, const Json &json) {
  WorkFacts work;
  work.name = json.contains("of") ? asString(json["of"], "'of'") : gemm.name;
  work.line = gemm.line;
  work.makers = {makerOf(gemm, json)};
  GemmWork figures = workOf(gemm);
  work.flops = static_cast<double>(figures.flops);
  work.bytes = static_cast<double>(figures.read) + static_cast<double>(figures.written);
  work.seconds = amountAt(json, "seconds");
  return work;
}

/// One call of an exchange; its bytes are those that a rank receives.
static WorkFacts workOf(const ExchangeSpec &exchange, const RanksSpec &ranks) {
  WorkFacts work;
  work.name = exchange.name;
  work.line = exchange.line;
  work.makers = {fmt::format("{} along {}", exchange.kindName(), exchange.along)};
  work.flops = 0;
  work.bytes = static_cast<double>(ranks.received(exchange));
  work.seconds = exchange.seconds;
  return work;
}

static void readWork(const Manifest &manifest, const Json &json, ProgramFacts &facts) {
  WorkList work;
  for (size_t i = 0; i < manifest.kernels.size(); ++i) {
    const Json &kernel = json["kernels"][i];
    work.add(workOf(manifest.kernels[i], kernel), partAt(kernel, "calls", noMembers));
  }
  for (size_t i = 0; i < manifest.gemms.size(); ++i) {
    const Json &gemm = json["gemms"][i];
    WorkFacts perCall = workOf(manifest.gemms[i], gemm);
    if (gemm.contains("calls"))
      work.add(perCall, partAt(gemm, "calls", noMembers));
    else
      work.add(perCall, stepEntry, std::nullopt);
  }
  for (const ExchangeSpec &exchange : manifest.target.ranks.exchanges)
    for (const auto &[entry, calls] : exchange.calls)
      work.add(workOf(exchange, manifest.target.ranks), entry, static_cast<double>(calls));
  facts.work = work.take();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

/// Adds `json` under `name`, and the members of objects under names of their own. Members of a list of named objects
/// are called by these names.
static void addDecisions(const std::string &name, const Json &json, ProgramFacts &facts) {
  bool isOfObjects = json.is_array() && !json.empty() && json.front().is_object();
  if (!json.is_object() && !isOfObjects) {
    facts.decisions.push_back({name, json});
    return;
  }
  for (const auto &[key, value] : json.items()) {
    bool isNamed = isOfObjects && value.is_object() && value.contains("name") && value["name"].is_string();
    addDecisions(name + "." + (isNamed ? value["name"].get<std::string>() : key), value, facts);
  }
}

/// "[batch: 4, ff: 192] f32, batch of 8 along data": of a rank, with what its parts are of.
static std::string typeOf(const std::vector<AxisSpec> &axes, ElementType type,
                          const std::vector<DividedAxis> &divided) {
  std::string text = formatAxes(axes) + " " + elementTypeName(type);
  for (const DividedAxis &part : divided) text += fmt::format(", {} of {} along {}", part.axis, part.whole, part.along);
  return text;
}

static void addValues(const std::string &entry, const std::vector<ValueSpec> &values, ProgramFacts &facts) {
  for (const ValueSpec &value : values) {
    std::string role = value.role == value.name ? "" : value.role + " ";
    facts.decisions.push_back({entry + ": " + role + value.name, typeOf(value.axes, value.type, value.divided)});
  }
}

/// The iterations of the loops over each axis of the step: layers, chunks, micro-batches.
static void addLoops(const Json &timeline, ProgramFacts &facts) {
  std::map<std::string, std::string> loops;
  for (const Json &moment : partAt(timeline, "moments", noList)) {
    if (!moment.contains("repeat")) continue;
    std::string &text = loops[passOf(moment) + " loop over " + asString(member(moment, "name", "timeline"), "'name'")];
    text += fmt::format("{}{}", text.empty() ? "" : ", ", asInteger(moment["repeat"], "timeline: 'repeat'"));
  }
  for (auto &[name, text] : loops) facts.decisions.push_back({name, std::move(text)});
}

static void readDecisions(const Manifest &manifest, const Json &json, ProgramFacts &facts) {
  facts.decisions = {{"model", manifest.model}, {"compiler", manifest.compiler}};
  for (const char *key : {"target", "leaves", "mesh", "settings", "data"})
    if (json.contains(key)) addDecisions(key, json[key], facts);
  if (const Json &timelines = partAt(partAt(json, "plan", noMembers), "timelines", noMembers);
      timelines.contains(stepEntry))
    addLoops(timelines[stepEntry], facts);
  for (const auto &[name, entry] : manifest.entries) {
    addValues(name, entry.inputs, facts);
    addValues(name, entry.outputs, facts);
  }
  for (const StateEntry &entry : manifest.state)
    facts.decisions.push_back({entry.kind + " " + entry.path, typeOf(entry.axes, entry.type, entry.divided)});
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static ProgramFacts readFacts(const Json &json, const std::string &text) {
  ProgramFacts facts;
  Manifest manifest = parseManifest(text);
  facts.model = manifest.model;
  facts.source = manifest.source;
  readMemory(manifest, json, facts);
  readTimes(json, facts);
  readWork(manifest, json, facts);
  readDecisions(manifest, json, facts);
  return facts;
}

/// Calls `read`; what it says is wrong gets the file's name.
template <typename Fn> static ProgramFacts withPath(const std::string &path, Fn read) {
  try {
    return read();
  } catch (const Error &error) {
    throw Error(path + ": " + error.what());
  } catch (const Json::exception &error) {
    throw Error(path + ": " + reasonOf(error));
  }
}

ProgramFacts tessera::factsOfProgram(const std::string &text, const std::string &path) {
  return withPath(path, [&] {
    ProgramFacts facts = readFacts(parseJson(text, "manifest", 0, deepestManifest), text);
    facts.sort = "program";
    return facts;
  });
}

ProgramFacts tessera::factsOfJson(const std::string &text, const std::string &path) {
  return withPath(path, [&] {
    Json json = parseJson(text, "JSON", 0, deepestPlan);
    bool isPlan = json.is_object() && json.contains("manifest");
    if (!isPlan && !(json.is_object() && json.contains("abi")))
      fail("it is JSON, but neither a manifest nor a plan; `--dump-dir` writes manifests, `tessera plan --json` prints "
           "plans");
    ProgramFacts facts = isPlan ? readFacts(json["manifest"], dumpJson(json["manifest"])) : readFacts(json, text);
    if (isPlan) readNeeds(json, facts);
    facts.sort = isPlan ? "plan" : "manifest";
    return facts;
  });
}
