//===- MemoryPlan.cpp - memory against time, as a manifest says it --------===//

#include "runtime/program/MemoryPlan.h"

#include <algorithm>

namespace tessera::runtime {

const MemoryPlan *MemorySpec::chosen() const {
  auto found = std::find_if(frontier.begin(), frontier.end(), [](const MemoryPlan &plan) { return plan.isChosen; });
  return found == frontier.end() ? nullptr : &*found;
}

/// Seconds and bytes may be negative.
static double secondsAt(const Json &json, const std::string &where) {
  const Json &value = member(json, "seconds", where);
  if (!value.is_number()) fail("{}: expected 'seconds' as a number", where);
  return value.get<double>();
}

static MemoryPlan readPlan(const Json &json, const std::string &where) {
  MemoryPlan plan{asInteger(member(json, "arena", where), where), secondsAt(json, where),
                  asString(member(json, "what", where), where), json.value("chosen", false)};
  if (plan.arenaBytes < 0) fail("{}: a plan has an arena of {} bytes", where, plan.arenaBytes);
  return plan;
}

static LayerValueSpec readValue(const Json &json, const std::string &where) {
  auto integer = [&](const char *key) { return asInteger(member(json, key, where), where); };
  LayerValueSpec value{asString(member(json, "name", where), where),
                       asString(member(json, "axis", where), where),
                       json.contains("path") ? asString(json["path"], where) : "",
                       integer("layers"),
                       integer("saved"),
                       integer("recomputed"),
                       integer("bytes")};
  if (json.contains("alternative")) {
    const Json &other = json["alternative"];
    value.alternative = {secondsAt(other, where), asInteger(member(other, "bytes", where), where)};
  }
  return value;
}

MemorySpec readMemorySpec(const Json &json, const std::string &where) {
  MemorySpec memory;
  if (json.contains("budget")) memory.budget = asInteger(json["budget"], where);
  for (const Json &plan : member(json, "frontier", where)) memory.frontier.push_back(readPlan(plan, where));
  for (const Json &value : json.value("values", Json::array())) memory.values.push_back(readValue(value, where));
  return memory;
}

} // namespace tessera::runtime
