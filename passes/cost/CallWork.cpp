//===- CallWork.cpp - what the time of a call depends on ------------------===//

#include "passes/cost/CallWork.h"
#include "ir/program/ComputingOps.h"

using namespace mlir;
using namespace tessera;

static constexpr std::pair<CallKind, StringLiteral> kinds[] = {
    {CallKind::Kernel, "kernel"}, {CallKind::Gemm, "gemm"}, {CallKind::Copy, "copy"}, {CallKind::Exchange, "exchange"}};

StringRef tessera::stringify(CallKind kind) {
  for (const auto &[value, name] : kinds)
    if (value == kind) return name;
  llvm_unreachable("no such kind");
}

static void writeLoad(StringRef key, const LinkLoad &load, llvm::json::OStream &json) {
  if (!load.isUsed()) return;
  json.attributeObject(key, [&] {
    json.attribute("bytes", std::llround(load.bytes));
    json.attribute("rounds", load.rounds);
  });
}

static constexpr StringLiteral insideKey = "inside", networkKey = "network";

static void writeExchange(const ExchangeWork &work, llvm::json::OStream &json) {
  json.attribute("exchange", stringifyExchangeKind(work.kind));
  json.attribute("received", work.received);
  writeLoad(insideKey, work.inside, json);
  writeLoad(networkKey, work.network, json);
}

void CallWork::write(llvm::json::OStream &json) const {
  json.object([&] {
    json.attribute("kind", stringify(kind));
    if (isAlone) json.attribute("alone", true);
    json.attributeObject("ops", [&] {
      for (const OpCount &count : ops) json.attribute(count.op, count.elements);
    });
    json.attributeArray("multiplies", [&] {
      for (const MultiplyWork &gemm : gemms)
        json.object([&] {
          json.attribute("type", elementTypeName(gemm.type));
          json.attribute("count", gemm.count);
          json.attribute("m", gemm.m), json.attribute("n", gemm.n), json.attribute("k", gemm.k);
          if (gemm.isTiled) json.attribute("tiled", true);
          if (gemm.tf32) json.attribute("tf32", true);
        });
    });
    json.attributeArray("traffic", [&] {
      for (double bytes : traffic) json.value(std::llround(bytes));
    });
    if (kind == CallKind::Exchange) writeExchange(exchange, json);
  });
}

/// More than a program has of anything, and little enough for products.
static constexpr double most = 1e18;

/// Contractions have operands of such types only.
static bool isMultiplied(ElementType type) { return isFloat(type) && bytesOf(type) <= bytesOf(ElementType::F32); }

static bool readGemms(const llvm::json::Array &array, CallWork &work) {
  for (const llvm::json::Value &value : array) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object) return false;
    auto type = elementTypeNamed(object->getString("type").value_or("").str());
    auto count = object->getNumber("count");
    auto m = object->getInteger("m"), n = object->getInteger("n"), k = object->getInteger("k");
    if (!type || !isMultiplied(*type) || !count || !m || !n || !k) return false;
    if (*count < 0 || *count > most || std::min({*m, *n, *k}) < 1) return false;
    bool isTiled = object->getBoolean("tiled").value_or(false), tf32 = object->getBoolean("tf32").value_or(false);
    work.gemms.push_back({*type, *count, *m, *n, *k, isTiled, tf32});
  }
  return true;
}

/// Of a link that an exchange uses; a load without a key is 0.
static bool readLoad(const llvm::json::Object &object, StringRef key, LinkLoad &load) {
  const llvm::json::Value *value = object.get(key);
  if (!value) return true;
  const llvm::json::Object *own = value->getAsObject();
  auto bytes = own ? own->getNumber("bytes") : std::nullopt;
  auto rounds = own ? own->getInteger("rounds") : std::nullopt;
  if (!bytes || !rounds || *bytes < 0 || *bytes > most || *rounds < 0) return false;
  load = {*bytes, *rounds};
  return true;
}

static bool readExchange(const llvm::json::Object &object, ExchangeWork &work) {
  auto kind = symbolizeExchangeKind(object.getString("exchange").value_or(""));
  auto received = object.getInteger("received");
  if (!kind || !received || *received < 0) return false;
  work.kind = *kind, work.received = *received;
  return readLoad(object, insideKey, work.inside) && readLoad(object, networkKey, work.network);
}

std::optional<CallWork> CallWork::read(const llvm::json::Value &json) {
  const llvm::json::Object *object = json.getAsObject();
  if (!object) return std::nullopt;
  CallWork work;
  const auto *kind = llvm::find_if(
      kinds, [name = object->getString("kind").value_or("")](const auto &entry) { return entry.second == name; });
  const llvm::json::Object *ops = object->getObject("ops");
  const llvm::json::Array *multiplies = object->getArray("multiplies"), *traffic = object->getArray("traffic");
  if (kind == std::end(kinds) || !ops || !multiplies || !traffic || !readGemms(*multiplies, work)) return std::nullopt;
  work.kind = kind->first;
  work.isAlone = object->getBoolean("alone").value_or(false);
  for (const auto &[key, value] : *ops) {
    std::optional<int64_t> elements = value.getAsInteger();
    if (!elements || *elements < 0) return std::nullopt;
    if (const ComputingOp *op = findComputingOp(key)) work.ops.push_back({op->name, *elements});
  }
  llvm::sort(work.ops, [](const OpCount &a, const OpCount &b) { return a.op < b.op; });
  for (const llvm::json::Value &value : *traffic) {
    std::optional<double> bytes = value.getAsNumber();
    if (!bytes || *bytes < 0 || *bytes > most) return std::nullopt;
    work.traffic.push_back(*bytes);
  }
  if (work.kind == CallKind::Exchange && !readExchange(*object, work.exchange)) return std::nullopt;
  return work;
}
