//===- RanksSpec.cpp - the ranks that a program is for --------------------===//

#include "runtime/program/RanksSpec.h"

#include "runtime/program/Manifest.h"

namespace tessera::runtime {

int64_t RanksSpec::sizeAlong(const std::string &axis) const {
  for (const MeshAxisSpec &own : mesh)
    if (own.name == axis) return own.size;
  return 0;
}

int64_t RanksSpec::count() const {
  int64_t ranks = 1;
  for (const MeshAxisSpec &axis : mesh) ranks *= axis.size;
  return ranks;
}

const char *ExchangeSpec::nameOf(Kind kind) {
  switch (kind) {
  case Kind::AllGather:
    return "all_gather";
  case Kind::AllToAll:
    return "all_to_all";
  case Kind::ReduceScatter:
    return "reduce_scatter";
  }
  return "";
}

static ExchangeSpec::Kind readKind(const Json &json, const std::string &where) {
  std::string name = asString(member(json, "kind", where), where);
  for (ExchangeSpec::Kind kind : ExchangeSpec::kinds)
    if (name == ExchangeSpec::nameOf(kind)) return kind;
  fail("{}: unknown kind of exchange '{}'", where, name);
}

static MeshAxisSpec readMeshAxis(const Json &json, const std::string &where) {
  MeshAxisSpec axis{asString(member(json, "name", where), where), asInteger(member(json, "size", where), where)};
  if (axis.size < 1) fail("{}: mesh axis '{}' has no ranks", where, axis.name);
  return axis;
}

static ExchangeSpec readExchange(const Json &json, const RanksSpec &ranks, const std::string &where) {
  ExchangeSpec exchange{asString(member(json, "of", where), where), asString(member(json, "along", where), where),
                        readKind(json, where)};
  exchange.bytes = asInteger(member(json, "bytes", where), where);
  if (exchange.kind == ExchangeSpec::Kind::ReduceScatter)
    exchange.element = parseElementType(asString(member(json, "type", where), where), where);
  if (ranks.sizeAlong(exchange.along) == 0) fail("{}: the mesh has no axis '{}'", where, exchange.along);
  if (exchange.bytes < 0) fail("{}: exchange of {} bytes", where, exchange.bytes);
  if (json.contains("at")) exchange.line = asString(json["at"], where);
  if (json.contains("calls"))
    for (const auto &[entry, count] : json["calls"].items()) exchange.calls[entry] = asInteger(count, where);
  if (json.contains("seconds")) {
    exchange.seconds = json["seconds"].get<double>();
    if (!(*exchange.seconds >= 0)) fail("{}: an exchange takes {} seconds", where, *exchange.seconds);
  }
  if (json.contains("work")) exchange.work = json["work"];
  return exchange;
}

static MachinesSpec readMachines(const Json &json, const std::string &where) {
  MachinesSpec machines{asInteger(member(json, "count", where), where),
                        asInteger(member(json, "devices", where), where)};
  if (machines.count < 1 || machines.devices < 1)
    fail("{}: {} machines with {} devices", where, machines.count, machines.devices);
  return machines;
}

RanksSpec readRanksSpec(const Json &json, const std::string &where) {
  RanksSpec ranks;
  ranks.leaves = json.value("leaves", int64_t(0));
  if (json.contains("target") && json["target"].contains("machines"))
    ranks.machines = readMachines(json["target"]["machines"], where);
  if (json.contains("target") && json["target"].contains("search"))
    ranks.search = readSearchSpec(json["target"]["search"], where);
  if (!json.contains("mesh")) return ranks;
  for (const Json &axis : json["mesh"]) ranks.mesh.push_back(readMeshAxis(axis, where));
  for (const Json &entry : member(json, "exchanges", where))
    ranks.exchanges.push_back(readExchange(entry, ranks, where));
  if (json.contains("divided_lines")) ranks.lines = readDividedLines(json["divided_lines"], where);
  return ranks;
}

} // namespace tessera::runtime
