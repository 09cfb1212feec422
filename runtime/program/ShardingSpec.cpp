//===- ShardingSpec.cpp - what a sharding is, and why ---------------------===//

#include "runtime/program/ShardingSpec.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tessera::runtime {

int64_t DividedLineSpec::line() const {
  int64_t number = 0;
  std::from_chars(at.data() + std::min(at.size(), at.rfind(':') + 1), at.data() + at.size(), number);
  return number;
}

static bool asFlag(const Json &value, const std::string &where) {
  if (!value.is_boolean()) fail("{}: expected true or false", where);
  return value.get<bool>();
}

static RejectedSpec readPrice(const Json &json, std::string choice, const std::string &where) {
  RejectedSpec rejected{std::move(choice), member(json, "seconds", where).get<double>(),
                        asFlag(member(json, "exact", where), where)};
  if (!(rejected.seconds >= 0)) fail("{}: a step of {} seconds", where, rejected.seconds);
  return rejected;
}

/// "4 x 2".
static std::string readRanks(const Json &json, const std::string &where) {
  std::string text;
  for (const Json &ranks : member(json, "mesh", where))
    text += fmt::format("{}{}", text.empty() ? "" : " x ", asInteger(ranks, where));
  return text;
}

static DecisionSpec readDecision(const Json &json, const std::string &where) {
  DecisionSpec decision;
  decision.isOfState = json.contains("state");
  auto text = [&](const char *key) { return asString(member(json, key, where), where); };
  decision.of = decision.isOfState ? text("state") : text("line") + " " + text("op");
  decision.along = text("along"), decision.chosen = text("chosen");
  for (const Json &rejected : member(json, "rejected", where))
    decision.rejected.push_back(readPrice(rejected, asString(member(rejected, "axis", where), where), where));
  if (decision.rejected.empty()) fail("{}: nothing was rejected of '{}'", where, decision.of);
  return decision;
}

SearchSpec readSearchSpec(const Json &json, const std::string &where) {
  SearchSpec search{member(json, "seconds", where).get<double>(), member(json, "bound", where).get<double>()};
  if (!(search.bound >= 0) || !(search.seconds >= search.bound))
    fail("{}: a step of {} seconds, and none of fewer than {}", where, search.seconds, search.bound);
  if (json.contains("memory")) {
    auto memory = json["memory"].get<double>();
    if (!(memory >= 0 && memory <= 0x1p62)) fail("{}: a search within {} bytes", where, memory);
    search.memory = std::llround(memory);
  }
  if (json.contains("unpinned")) {
    search.unpinned = json["unpinned"].get<double>();
    if (!(*search.unpinned >= 0) || !(search.seconds >= *search.unpinned))
      fail("{}: a step of {} seconds, and of {} with nothing fixed", where, search.seconds, *search.unpinned);
  }
  if (json.contains("meshes"))
    for (const Json &mesh : json["meshes"]) search.meshes.push_back(readPrice(mesh, readRanks(mesh, where), where));
  if (json.contains("decisions"))
    for (const Json &decision : json["decisions"]) search.decisions.push_back(readDecision(decision, where));
  return search;
}

std::vector<DividedLineSpec> readDividedLines(const Json &json, const std::string &where) {
  std::vector<DividedLineSpec> lines;
  for (const Json &entry : json) {
    DividedLineSpec line{asString(member(entry, "at", where), where), asInteger(member(entry, "ops", where), where)};
    for (const auto &[along, axes] : member(entry, "divided", where).items())
      for (const auto &[axis, count] : axes.items()) line.divided[along][axis] = asInteger(count, where);
    lines.push_back(std::move(line));
  }
  return lines;
}

} // namespace tessera::runtime
